"""AndroidWorld's own 116 tasks on the simulated phone: not part of the default tests, see docs/simulated-phone.md."""
