"""python -m scalelens"""

from scalelens.cli import main

if __name__ == "__main__":
    main()
