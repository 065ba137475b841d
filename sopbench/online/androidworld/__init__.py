"""AndroidWorld (google-research/android_world), run as its publisher wrote it: in an environment of its own, as a child process that takes orders as lines of JSON.

pins.py      which commit, and what it needs            source.py    getting exactly that commit
install.py   making the environment                     bridge.py    the program that runs in it
client.py    the bridge seen from here                  tasks.py     the tasks of a family, with their seeds
actions.py   our actions in its words                   slots.py     devices and their bridges, lent to episodes
environment.py  one task being played                   apks.py      files that its set-up would download
"""
