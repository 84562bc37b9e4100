"""`python -m manifill` is the command line."""

from manifill._cli import main

if __name__ == "__main__":
    main()
