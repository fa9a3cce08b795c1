"""Reference solutions that share no code with the density solver.

They move points, never cells: closed forms, quadrature labels of a smooth start, equally
heavy particles.  Of mfpde they use at most what states the equation (attention, perceptron)
and the particle runs; nothing of ``mfpde.solve`` or ``mfpde.transport``.
"""
