"""What stands in history in place of a mismatch, so that play goes on: three kinds (`thought_free`, `off_policy`, `on_policy`) behind one interface (`base`)."""
