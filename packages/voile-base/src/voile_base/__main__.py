"""``python -m voile_base`` is ``voile``, of whichever distributions are installed."""

from voile_base.main import run

if __name__ == "__main__":
    run()
