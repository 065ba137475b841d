"""Names that launchers and people give to the same Android app, for `strict`'s `open` rule.

Each line is one app. Our own list: the short names are what launchers print under the icon, the long ones what the app is called in its store. It
holds only names that mean the same app to anybody: `Calendar` and `Google Calendar`, but not `Recorder` and `Voice Recorder`, which are two.
"""

from __future__ import annotations

APP_NAMES: tuple[tuple[str, ...], ...] = (
    ("Arts & Culture", "Arts and Culture", "Google Arts & Culture", "Google Arts and Culture"),
    ("Assistant", "Google Assistant"),
    ("Audiomack", "Audio\u00admack"),
    ("Calendar", "Google Calendar"),
    ("Chrome", "Google Chrome"),
    ("Contacts", "Google Contacts"),
    ("Docs", "Google Docs"),
    ("Drive", "Google Drive"),
    ("Earth", "Google Earth"),
    ("Excel", "Microsoft Excel"),
    ("Facebook Messenger", "Messenger"),
    ("Files", "Files by Google", "Google Files"),
    ("Gmail", "Google Mail"),
    ("Google Fit", "Fit"),
    ("Guardian", "The Guardian"),
    ("Home", "Google Home"),
    ("Keep", "Keep Notes", "Google Keep", "Google Keep Notes"),
    ("Lens", "Google Lens"),
    ("Maps", "Google Maps"),
    ("Meet", "Google Meet"),
    ("Messages", "Google Messages"),
    ("NYTimes", "NY Times", "New York Times", "The New York Times"),
    ("OneDrive", "Microsoft OneDrive"),
    ("OneNote", "Microsoft OneNote"),
    ("Outlook", "Microsoft Outlook"),
    ("Phone", "Google Phone", "Phone by Google"),
    ("Photos", "Google Photos"),
    ("Play Books", "Google Play Books"),
    ("Play Store", "Google Play", "Google Play Store"),
    ("PowerPoint", "Microsoft PowerPoint"),
    ("Sheets", "Google Sheets"),
    ("Slides", "Google Slides"),
    ("TOI", "Times of India", "The Times of India"),
    ("Teams", "Microsoft Teams"),
    ("Translate", "Google Translate"),
    ("Word", "Microsoft Word"),
    ("X", "Twitter"),
    ("YT Music", "YouTube Music"),
)
