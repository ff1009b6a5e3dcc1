"""Backups as operations. A caller names a target of the configuration, or takes the files itself: no call
makes the server read or write a path."""

from collections.abc import Iterator

from siltstone.backup import Part, manifest_part
from siltstone.engine.auditing import Auditing
from siltstone.engine.backups import BackupKeeper, backup_parts
from siltstone.engine.call import Call
from siltstone.model.requests import Backup, BackupPart, CreateBackupRequest, StreamBackupRequest


class BackingUp(Auditing):
    backups: BackupKeeper

    def create_backup(self, request: CreateBackupRequest, call: Call) -> Backup:
        return self.backups.run(request.target)

    def stream_backup(self, request: StreamBackupRequest, call: Call) -> Iterator[BackupPart]:
        known = {file.name: file.size_bytes for file in request.known}
        with self.backups.streaming():
            for part in backup_parts(self.store, known):
                file = part if isinstance(part, Part) else manifest_part(part)
                yield BackupPart(name=file.name, data=file.data)
