"""`python -m evenkeel`, and the `evenkeel` console script."""

from evenkeel.cli import main

if __name__ == "__main__":
    main()
