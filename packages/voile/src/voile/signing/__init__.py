"""Signatures over a release, its evidence, a policy and its verdict; and whether they still hold.

- ``keys``        key files, and public keys as texts
- ``statement``   what is signed: hashes of public files, commitments to private ones
- ``signatures``  ``signatures.json`` and the salts
- ``signing``     one more signature
- ``verifying``   whether anything was changed since
"""
