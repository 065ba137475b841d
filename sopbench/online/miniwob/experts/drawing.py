"""Experts for drawn pages."""

from __future__ import annotations
from typing import Final

EXPERTS: dict[str, object] = {}
