"""Siltstone: self-hosted memory for agents."""
