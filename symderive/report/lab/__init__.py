"""The lab: an op's gradients measured, its autograd graph walked, its mistakes run, and all of it written up.

``measure`` gives a :class:`symderive.report.lab.data.Lab`, frozen numbers without torch; everything that is said about
it, in ``findings`` and ``writeup``, is a function of those numbers.
"""
