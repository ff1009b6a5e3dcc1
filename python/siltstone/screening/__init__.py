"""What a text holds that should not be kept, or not unmarked: secrets, personal data. Pure functions."""

from siltstone.screening.findings import Finding, mask
from siltstone.screening.personal import personal_data
from siltstone.screening.secrets import secrets

__all__ = ["Finding", "mask", "personal_data", "secrets"]
