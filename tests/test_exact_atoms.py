"""Density with exact atoms: the motion of atoms, and the hand-off of mass."""

import numpy as np
import pytest
from equations import ascent, descent, pull
from random_points import atoms_alone, atoms_at, random_points
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import mfpde
from mfpde import Atoms, Circle, Density, Measure, Perceptron, Sphere, bumps, solve
from mfpde.atoms import StepTooSmallError
from validation.circle_cases import angles_of
from validation.references import ring, two_bumps
from validation.references.two_atoms import merge_time

# --- Atoms alone ----------------------------------------------------------------------


@pytest.mark.parametrize("softmax", [False, True])
@pytest.mark.parametrize("beta", [1.0, 8.0, 25.0])
def test_two_atoms_merge_when_they_should(beta, softmax):
    start = atoms_alone(Circle(256), atoms_at([0.3, 1.1]))
    equation = ascent(beta, normalized=softmax)
    run = solve(equation, start, t_end=1e4, save_at=[1e4], atoms="exact")
    (merge,) = run.events
    assert merge.kind == "merge"
    apart = np.linalg.norm(merge.points[0] - merge.points[1])
    expected = merge_time(beta, 1.0, start_angle=0.8, end_angle=apart, softmax=softmax)
    assert merge.time == pytest.approx(expected, rel=1e-4)
    assert angles_of(run.final.atoms.points) == pytest.approx(0.7, abs=1e-6)
    assert run.final.total_mass == 1.0


@pytest.mark.parametrize("geometry", [Circle(256), Sphere(64)], ids=["S1", "S2"])
def test_the_dissipation_is_that_of_the_atoms_too(geometry):
    """V = .7 x_1 alone: |v| = .7 sin(theta), of the mass .4; the density is uniform."""
    axis = 0.7 * np.eye(1, geometry.dimension)[0]
    place = np.eye(2, geometry.dimension) * [[0.6], [0.8]]
    start = Measure(
        Density(geometry, 0.6 * mfpde.uniform(geometry).values),
        Atoms([place.sum(axis=0)], [0.4]),
    )
    run = solve(ascent(pull(axis)), start, t_end=0.01, atoms="exact")
    mean_square = 0.5 if geometry.dimension == 2 else 2 / 3
    expected = 0.49 * (0.4 * 0.8**2 + 0.6 * mean_square)
    assert run.diagnostics["dissipation"][0] == pytest.approx(expected, rel=1e-6)


def test_atoms_that_meet_are_at_their_mean_when_they_meet_whenever_that_is():
    """Three atoms alone, from the time 0 and from 7."""
    start = atoms_alone(Circle(256), atoms_at([0.0, 0.5, 1.3], [0.6, 0.3, 0.1]))
    runs = [
        solve(ascent(4.0), start, start_time=time, t_end=time + 90.0, atoms="exact")
        for time in (0.0, 7.0)
    ]
    times = np.array([[event.time for event in run.events] for run in runs])
    np.testing.assert_allclose(times[1] - times[0], 7.0, rtol=2e-7)
    assert 0.0 < times[0, 0] < times[0, 1]
    for run in runs:
        assert run.final.atoms.masses == pytest.approx([1.0])
        # sum m theta is kept.
        mean = angles_of(run.final.atoms.points)
        assert mean == pytest.approx(0.3 * 0.5 + 0.1 * 1.3, abs=1e-7)


@pytest.mark.parametrize("mass", [1e-3, 0.5])
def test_a_light_cluster_becomes_an_atom_as_a_heavy_one_does(mass):
    places = {"angles": [0.3, 2.5], "widths": [0.02, 0.02]}
    start = bumps(Circle(512), masses=[mass, 1 - mass], **places)
    equation = ascent(25.0, normalized=True)
    run = solve(equation, start, t_end=5.0, save_at=[5.0], atoms="exact")
    density, atoms = run.final.density, run.final.atoms
    assert np.sort(atoms.masses)[0] == pytest.approx(mass, rel=1e-3)
    # Atoms have taken what was within 4 cells.
    near = density.geometry.points @ atoms.points.T > np.cos(
        3.9 * density.geometry.spacing
    )
    assert not density.masses[near.any(axis=1)].any()


# --- The hand-off ---------------------------------------------------------------------


def handed_off(measure, equation):
    """The run of a step of length 1e-9: mass is exchanged before it and after it."""
    options = {"atoms": "exact", "transport": "donor_blended"}
    return solve(equation, measure, t_end=1e-9, save_at=[1e-9], **options)


def mean_point(measure):
    points = measure.geometry.points.reshape(-1, measure.dimension)
    clouds = measure.atoms.as_clouds()
    return measure.density.masses.ravel() @ points + clouds.masses @ clouds.points


@pytest.mark.parametrize("geometry", [Circle(256), Sphere(64)], ids=["S1", "S2"])
@pytest.mark.parametrize("seed", range(4))
def test_a_hand_off_keeps_mass_and_first_moment(geometry, seed):
    (centre,) = random_points(1, geometry.dimension, seed)
    width = 1.5 * geometry.spacing

    def bump(points):
        return np.exp((points @ centre - 1) / width**2) + 1e-3

    before = Measure(Density.from_function(geometry, bump))
    run = handed_off(before, ascent(4.0))
    # One: the second time nothing is left to do.
    assert [event.kind for event in run.events] == ["birth"]
    assert run.final.total_mass == pytest.approx(1, abs=1e-14)
    moved = mean_point(run.final) - mean_point(before)
    # Means are taken in the tangent plane: lengths differ in fourth order.
    assert np.linalg.norm(moved) <= 5 * width**4
    # What lies beyond three cells stays, and that edge is ragged by a cell.
    (atom,) = run.final.atoms.points
    assert np.linalg.norm(atom - centre) <= 0.2 * geometry.spacing


@pytest.mark.filterwarnings("ignore:.*coarse")
def test_what_is_too_light_for_an_atom_stays_in_its_cells():
    """Narrow mass of which the flow contracts a half to its centre, which is too little.

    An atom elsewhere absorbs its tail in the same hand-off.
    """
    circle = Circle(256)
    h = circle.spacing
    kink, target = np.pi / 2, np.pi / 2 + 0.3 * h
    axis = 0.3 * np.array([np.cos(target), np.sin(target)])
    equation = ascent(25.0, pull(axis), Perceptron([[1.0, 0.0]], [0.48]))
    light = bumps(circle, angles=[kink], widths=1.5 * h)
    tail = bumps(circle, angles=[4.7], widths=2 * h)
    masses = 1.4e-4 * light.masses + 1e-3 * tail.masses
    rest = atoms_at([4.7], [1 - masses.sum()])
    run = handed_off(Measure(Density(circle, masses / circle.areas), rest), equation)
    assert run.events == ()
    assert run.final.atoms.masses > rest.masses
    assert run.final.total_mass == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("rates", [(-3.0, 1.0), (1.0, -3.0)])
def test_a_wide_atom_is_released_where_the_flow_expands_one_way(rates):
    sphere, saddle = Sphere(64), Perceptron(np.eye(2, 3), rates, "linear")
    covariance = (2 * sphere.spacing) ** 2 * np.diag([1.0, 1.0, 0.0])
    atoms = Atoms([[0.0, 0.0, 1.0]], [1.0], [covariance])
    run = handed_off(atoms_alone(sphere, atoms), ascent(saddle))
    assert [event.kind for event in run.events] == ["fission"]


@pytest.mark.parametrize("geometry", [Circle(256), Sphere(64)], ids=["S1", "S2"])
@pytest.mark.parametrize("mass", [1.0, 0.4])
def test_a_wide_atom_is_released_where_the_flow_expands(geometry, mass):
    """Two cells wide, alone or beside a steep density, which elsewhere stays as it was."""
    position = np.ones(geometry.dimension) / np.sqrt(geometry.dimension)
    width = 2.0 * geometry.spacing
    flat = np.eye(geometry.dimension) - np.outer(position, position)
    atoms = Atoms([position], [mass], [width**2 * flat])
    steep = Density.from_function(geometry, lambda x: np.exp(8 * x[..., 0]))
    density = Density(geometry, (1 - mass) * steep.normalized().values)
    run = handed_off(Measure(density, atoms), descent(4.0))
    assert [event.kind for event in run.events] == ["fission"]
    assert len(run.final.atoms) == 0
    assert run.final.total_mass == pytest.approx(1, abs=1e-14)
    away = np.arccos(np.clip(geometry.points @ position, -1, 1))
    before, after = density.masses, run.final.density.masses
    is_far = away > 8 * width
    # Near the poles cells of a ring have the mean of their group.
    np.testing.assert_allclose(after[is_far], before[is_far], rtol=1e-7, atol=3e-8)
    released = after - before
    mean = released.ravel() @ geometry.points.reshape(-1, geometry.dimension)
    assert mean / np.linalg.norm(mean) == pytest.approx(position, abs=1e-7)
    spread = (geometry.dimension - 1) * (width**2 + (0.3 * geometry.spacing) ** 2)
    assert (released * away**2).sum() == pytest.approx(mass * spread, rel=0.01)


def test_a_narrow_atom_stays_where_the_flow_expands():
    position = np.array([0.6, 0.8])
    atoms = Atoms([position], [1.0], np.zeros((1, 2, 2)))
    run = handed_off(atoms_alone(Circle(256), atoms), descent(4.0))
    assert run.events == ()
    assert run.final.atoms.points[0] == pytest.approx(position, abs=1e-15)


@pytest.mark.parametrize("narrow", [0.0, 0.13, 0.5])
def test_a_released_atom_has_its_mass_and_place_however_narrow(narrow):
    """Rounding along the radius, here 1.5e-15 of the largest eigenvalue, must not count."""
    sphere, generator = Sphere(32), np.random.default_rng(5)
    for _ in range(20):
        turn = Rotation.random(rng=generator).as_matrix()
        axes = turn * np.array([narrow, 1.95, 0.0]) * sphere.spacing
        place, rounding = turn[:, 2], 6e-15 * sphere.spacing**2
        covariance = axes @ axes.T + rounding * np.outer(place, place)
        atom = Atoms([place], [1.0], [covariance])
        run = handed_off(atoms_alone(sphere, atom), descent(4.0))
        assert [event.kind for event in run.events] == ["fission"]
        assert run.final.density.values.min() >= 0
        assert run.final.total_mass == pytest.approx(1.0, rel=1e-12)
        mean = mean_point(run.final)
        assert np.linalg.norm(mean / np.linalg.norm(mean) - place) <= sphere.spacing / 2


# --- Bad input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("geometry", "beta"), [(Circle(128), 4.0), (Sphere(64), 50.0)], ids=["S1", "S2"]
)
def test_a_coarse_grid_is_named_before_the_run(geometry, beta):
    with pytest.warns(UserWarning, match="the grid is coarse for exact atoms"):
        solve(ascent(beta), mfpde.uniform(geometry), t_end=0.01, atoms="exact")


def test_atoms_alone_that_would_never_arrive_end_the_run(monkeypatch):
    """A weight of 1e50 moves the atom by steps of 1e-50: a reason, not a run without end."""
    monkeypatch.setattr("mfpde.atoms.motion.MOST_EVALUATIONS", 3000)
    start = Measure(Density(Circle(128), np.eye(128)[38]).normalized())
    head = mfpde.Attention(1.0, bilinear=[[0.0, 0.352], [-0.386, -0.602]])
    directions = [[-0.85441581, 0.51958986], [-0.42536114, 0.9050237], [0.0, -1.0]]
    neurons = Perceptron(directions, [1e50, 1e-300, -5e-324])
    options = {"atoms": "exact", "transport": "donor_blended"}
    run = solve(ascent(head, neurons), start, t_end=0.3, save_at=[0.1, 0.3], **options)
    assert run.stop.kind == "step_too_small"
    assert run.final.total_mass == pytest.approx(1.0, abs=1e-12)


def test_a_method_that_takes_too_many_evaluations_gives_way_to_the_next(monkeypatch):
    """LSODA is made to give up at once."""
    tried = []

    def recorded(rate, span, first, *, method, **options):
        tried.append(method)
        if method == "LSODA":
            raise StepTooSmallError(1e-9)
        return solve_ivp(rate, span, first, method=method, **options)

    monkeypatch.setattr("scipy.integrate.solve_ivp", recorded)
    start = atoms_alone(Circle(128), atoms_at([0.0, 1.0], [0.5, 0.5]))
    run = solve(ascent(1.0), start, t_end=1.0, save_at=[1.0], atoms="exact")
    assert tried == ["LSODA", "BDF"]
    (apart,) = np.diff(angles_of(run.final.atoms.points))
    time = merge_time(1.0, start_angle=1.0, end_angle=apart)
    assert time == pytest.approx(1.0, abs=1e-8)


def test_a_method_that_fails_gives_way_without_a_warning():
    """LSODA finds no step for a velocity of 1e30 beside its zero; warnings are errors here."""
    neuron = Perceptron([[0.0, 1.0]], [-1e30], "leaky_relu")
    start = atoms_alone(Circle(128), Atoms([[1.0, 1.75358081e-33]]))
    times = {"start_time": 4e-6, "t_end": 0.2, "save_at": [0.2]}
    run = solve(ascent(1.0, neuron), start, atoms="exact", **times)
    assert np.abs(run.final.atoms.points - [[1.0, 0.0]]).max() <= 1e-12


TILTED = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])
OVER_THE_POLE = Rotation.from_euler("y", -np.pi / 2).as_matrix()
OBLIQUE = Rotation.from_euler("xyz", [0.4, 0.9, 0.3]).as_matrix()


def separation(measure):
    """Angle between two atoms; nan while there are none, 0 once they are one."""
    points = measure.atoms.points
    if len(points) == 2:
        return two_bumps.angle_between(points[0], points[1])
    return 0.0 if len(points) == 1 else np.nan


@pytest.mark.parametrize(
    ("name", "turn"),
    [
        pytest.param("equal", np.eye(3), marks=pytest.mark.slow),
        ("equal", OBLIQUE),
        pytest.param("equal", OVER_THE_POLE, marks=pytest.mark.slow),
        ("tidal softmax", np.eye(3)),
        pytest.param("tidal softmax", OBLIQUE, marks=pytest.mark.slow),
        pytest.param("sharp", np.eye(3), marks=pytest.mark.slow),
        ("sharp softmax", OVER_THE_POLE),
    ],
)
def test_bumps_merge_in_time(name, turn):
    """The times at which the angle between the atoms falls below .5, .3 and .1.

    Neither atom is released, although the tide of the heavier one stretches the lighter one.
    """
    case = two_bumps.CASES[name]
    times = np.array(two_bumps.separation_times(case))
    equation = ascent(case.beta, normalized=case.softmax)
    start = Density.from_function(Sphere(64), two_bumps.start_density(case, turn))
    near = np.linspace(0.988, 1.012, 31)
    end = times[-1] * near[-1]
    saves = np.union1d(np.outer(times, near).ravel(), np.linspace(0, end, 60))
    observed = {"separation": separation}
    options = {"save_at": saves[saves <= end], "atoms": "exact", "observe": observed}
    run = solve(equation, start, t_end=end, **options)
    apart = run.diagnostics["separation"]
    # Of one atom alone, before the other has formed, the separation says nothing.
    known = np.isfinite(apart) & (np.cumsum(apart > 0) > 0)
    thresholds = np.array(two_bumps.THRESHOLDS)
    found = np.interp(-thresholds, -apart[known], run.times[known])
    np.testing.assert_allclose(found, times, rtol=5e-3)
    assert [event.kind for event in run.events[:2]] == ["birth", "birth"]
    assert "fission" not in {event.kind for event in run.events}
    assert run.mass_drift <= 1e-13
    if not case.softmax:
        assert np.diff(run.energies).min() >= -1e-13


def test_an_atom_opens_into_a_ring():
    """One neuron in descent: its rms radius on the way and at the end."""

    def radius(measure):
        clouds, density = measure.atoms.as_clouds(), measure.density
        heights = np.concatenate(
            [(sphere.points @ TILTED).ravel(), clouds.points @ TILTED]
        )
        masses = np.concatenate([density.masses.ravel(), clouds.masses])
        return float(np.sqrt(masses @ np.arccos(np.clip(heights, -1, 1)) ** 2))

    sphere = Sphere(64)
    neuron = Perceptron([TILTED], [ring.WEIGHT])
    equation = descent(ring.BETA, neuron)
    width = ring.WIDTH**2 * (np.eye(3) - np.outer(TILTED, TILTED))
    start = atoms_alone(sphere, Atoms([TILTED], [1.0], [width]))
    options = {"save_at": ring.TIMES, "atoms": "exact", "observe": {"radius": radius}}
    run = solve(equation, start, t_end=ring.TIMES[-1], **options)
    radii = run.diagnostics["radius"]
    assert len(run.events) == 1
    np.testing.assert_allclose(radii, ring.opening_radii(), rtol=0.15)
    assert radii[-1] == pytest.approx(ring.ring_angle(ring.BETA, ring.WEIGHT), rel=0.01)
    assert np.diff(run.energies).max() <= 1e-13


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_a_thin_ring_closes_at_its_centre_at_any_angle_to_the_grid(seed):
    """A ring of a cell's width stays one: nothing but the grid could break it.

    It is unstable: what the grid favours in one place would grow to an atom there.
    """
    sphere, axis = Sphere(96), TILTED
    if seed is not None:
        axis = Rotation.random(random_state=seed).apply([0.0, 0.0, 1.0])

    def ring(points):
        away = (np.arccos(np.clip(points @ axis, -1, 1)) - 0.5) / sphere.spacing
        return np.exp(-0.5 * away**2)

    equation = ascent(50.0)
    start = Density.from_function(sphere, ring)
    run = solve(equation, start, t_end=90.0, save_at=[90.0], atoms="exact")
    (birth,) = run.events
    assert birth.kind == "birth"
    assert np.linalg.norm(birth.points[0] - axis) <= 0.1 * sphere.spacing
    assert run.mass_drift <= 1e-13
