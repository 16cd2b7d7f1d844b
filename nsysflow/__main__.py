"""``python -m nsysflow``."""

from nsysflow.cli import main

if __name__ == "__main__":
    main()
