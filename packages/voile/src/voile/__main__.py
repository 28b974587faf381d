"""``python -m voile`` is ``voile``."""

from voile_base.main import main

if __name__ == "__main__":
    main()
