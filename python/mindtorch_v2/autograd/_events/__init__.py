"""What ``mindtorch_v2.autograd.profiler_util`` is made of: one noun a file."""
