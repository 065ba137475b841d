"""The boards as a static page: from disk, without a server, loading nothing from elsewhere."""
