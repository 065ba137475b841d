"""MiniWoB++ (Chromium): the small web tasks of the pip package `miniwob`, on a browser that looks like a phone. It is not AndroidWorld."""
