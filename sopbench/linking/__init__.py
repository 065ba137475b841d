"""Offline, semi-online and online results of the same models side by side: do they move together?"""
