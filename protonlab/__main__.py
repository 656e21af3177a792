"""``python -m protonlab``: the command line, by an interpreter."""

from protonlab.cli import main

if __name__ == "__main__":
    main()
