"""What must hold between the numbers of a text: each file of this folder is one identity.

An identity is a module whose docstring says what must hold, when a text is accused and when it is not, with

    def find(document): ...     the findings, each of kind "inconsistent"

A false accusation costs far more than a miss: an identity accuses nothing if a heading or a sentence can be read
differently.
"""
