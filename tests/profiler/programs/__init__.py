"""The programs that the goldens in tests/data/goldens were recorded from, for any library with torch's names.

Each is given the library and returns what it recorded, by the names that the golden's files have.
"""
