"""``python -m voile_base`` is ``voile``, of whichever distributions are installed."""

from voile_base.main import main

if __name__ == "__main__":
    main()
