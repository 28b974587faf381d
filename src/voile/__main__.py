"""``python -m voile`` is ``voile``."""

from voile.cli.main import main

if __name__ == "__main__":
    main()
