"""`python -m uis1_train`, and the entry point of the `uis1-train` command."""

from uis1_train.cli import main

if __name__ == "__main__":
    main()
