"""``python -m voile`` is ``voile``."""

from voile_base.main import run

if __name__ == "__main__":
    run()
