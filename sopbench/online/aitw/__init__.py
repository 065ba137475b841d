"""AITW online: DigiRL's instructions on a device with Chrome, success by a VLM judge. See docs/aitw.md."""
