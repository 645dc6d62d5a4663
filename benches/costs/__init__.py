"""What the profiler costs beside PyTorch's, and mtprof beside others: ``python -m benches.costs``, or ``make bench``.

Each library has a process of its own, and the two take turns, in an order that changes from round to round. A figure is
the median over the rounds; its spread is from the first quartile to the third. In both, the garbage collector is off
while something is timed (which favours the one that makes more objects), operators run on one thread, and only the
host is profiled.
"""
