"""Sweeps: one run for each combination of settings, in a folder that knows what is done.

A sweep file is a settings file with a table [sweep]:

    [sweep]
    folder = "results/betas"            # where the runs and their record are kept

    [sweep.product]                     # each value with each other
    attention.beta = [1, 5, 25]
    perceptron.random.seed = [1, 2, 3]

    [[sweep.cases]]                     # a list of changes, with a name each
    name = "ascent"
    equation.direction = "ascent"

    [[sweep.cases]]
    name = "descent, no perceptron"
    equation.direction = "descent"
    perceptron = "none"

    [attention]                         # settings of all runs
    kernel = "shifted"

Product and cases are combined each with each other: here are 3 * 3 * 2 = 18 runs.  Any setting
can be spanned by its dotted name: seeds, matrices, whole sections (a list of tables, given as
[sweep.product] perceptron = [{...}, {...}]), one head of several (attention.0.beta), one layer
(layers.2.duration).  The word "none" takes a setting or section away.

A run is known by a hash of its settings and of the version of mfpde; each is one store in the
folder. Started again, a sweep skips what is done, goes on with what was interrupted, and computes
again what failed. Particles are left to `mfpde run`.  `mfpde sweep sweep.toml` starts one,
with ``--workers 8`` in processes of this machine, with ``--scheduler tcp://host:8786`` on a Dask
cluster that is there; each job of a job array starts the first, and takes runs of its own.
"""
