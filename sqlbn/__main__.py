"""`python -m sqlbn` is the program."""

from sqlbn.cli import main

if __name__ == "__main__":
    main()
