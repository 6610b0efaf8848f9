"""python -m scalelens"""

from scalelens.cli import run

if __name__ == "__main__":
    run()
