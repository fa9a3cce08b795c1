"""Stores that something has happened to: named in a line, never read as if they were whole."""

import errno
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import mfpde
from mfpde.commands.command_line import main
from mfpde.storage import RunWriter, StoreError, load, save

EQUATION = mfpde.MeanFieldEquation(
    mfpde.Attention(3.0), mfpde.Perceptron([[1.0, 0.0]], [0.4]), direction="ascent"
)
CHUNKED = ("density", "energy", "mass", "checksum", "time")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[mfpde.Run, Path]:
    path = tmp_path_factory.mktemp("stores") / "run.zarr"
    # 2^15 entries a chunk: 8 of 20 saves of 4096 cells.
    start = mfpde.perturbed_uniform(mfpde.Circle(4096), 0.2)
    run = mfpde.solve(EQUATION, start, t_end=0.02, save_every=0.001)
    save(run, path)
    return run, path


@pytest.fixture
def store(whole, tmp_path) -> Path:
    return Path(shutil.copytree(whole[1], tmp_path / "run.zarr"))


def chunks(store: Path, variable: str) -> list[Path]:
    return sorted(
        path for path in (store / variable / "c").rglob("*") if path.is_file()
    )


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(bytes(data))


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES = {"gone": Path.unlink, "flipped": flipped, "cut short": cut_short}


def refused_in_a_line(store: Path, capsys: pytest.CaptureFixture[str]) -> bool:
    code, said = main(["show", str(store)]), capsys.readouterr().err
    return code == 2 and said.startswith("mfpde show: ") and said.count("\n") == 1


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("variable", CHUNKED)
def test_a_damaged_chunk_is_noticed(store, capsys, *, variable, damage) -> None:
    DAMAGES[damage](chunks(store, variable)[0])
    with pytest.raises(StoreError, match=r"damaged|cannot be read"):
        load(store)
    assert refused_in_a_line(store, capsys)


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_sound_can_be_read(whole, store, damage) -> None:
    run, _ = whole
    DAMAGES[damage](chunks(store, "density")[0])
    with pytest.raises(StoreError, match=r"\d of 21 saves .* skip_damaged=True"):
        load(store)
    kept = load(store, skip_damaged=True)
    # The first chunk holds eight saves; a bit that is not its own may spoil only one.
    assert set(run.times[8:]) <= set(kept.times) < set(run.times)
    assert damage == "flipped" or len(kept.times) == 13
    states = dict(zip(run.times, run.states, strict=True))
    for time, state in zip(kept.times, kept.states, strict=True):
        np.testing.assert_array_equal(state.density.values, states[time].density.values)


@pytest.mark.parametrize("part", ["", "density", "time", "energy"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_metadata_is_noticed(whole, store, capsys, *, part, damage) -> None:
    DAMAGES[damage](store / part / "zarr.json")
    if damage != "flipped":
        assert refused_in_a_line(store, capsys)
    elif not refused_in_a_line(store, capsys):
        # A letter of a description: nothing that a run is read from.
        run = load(store)
        np.testing.assert_array_equal(run.times, whole[0].times)
        np.testing.assert_array_equal(run.energies, whole[0].energies)


@pytest.mark.parametrize("part", ["time", "density"])
def test_a_variable_that_is_gone_is_noticed(store, part, capsys) -> None:
    shutil.rmtree(store / part)
    assert refused_in_a_line(store, capsys)


@pytest.mark.parametrize("name", ["equation", "geometry"])
def test_an_equation_that_was_changed_on_disk_is_refused(store, name) -> None:
    place = store / "zarr.json"
    record = json.loads(place.read_text())
    text = record["attributes"][name]
    record["attributes"][name] = text.replace("3.0", "4.0").replace("4096", "2048")
    assert record["attributes"][name] != text
    place.write_text(json.dumps(record))
    with pytest.raises(StoreError, match="do not match their checksum"):
        load(store)


def without_checksums(store: Path) -> None:
    """Make of it what an older version wrote."""
    shutil.rmtree(store / "checksum")
    place = store / "zarr.json"
    record = json.loads(place.read_text())
    for name in ("checked_records", "attributes_checksum"):
        del record["attributes"][name]
    record.pop("consolidated_metadata", None)
    place.write_text(json.dumps(record))


def test_a_store_without_checksums_is_read_as_before(whole, store) -> None:
    without_checksums(store)
    assert len(load(store).times) == len(whole[0].times)


@pytest.mark.parametrize("variable", ["density", "energy", "mass"])
def test_a_chunk_cut_short_is_noticed_without_checksums_too(store, variable) -> None:
    without_checksums(store)
    cut_short(chunks(store, variable)[0])
    with pytest.raises(StoreError, match="cannot be read"):
        load(store)


def test_what_is_sound_is_read_without_checksums_too(whole, store) -> None:
    without_checksums(store)
    cut_short(chunks(store, "density")[0])
    kept = load(store, skip_damaged=True)
    assert set(kept.times) < set(whole[0].times)
    assert all(np.isfinite(state.density.values).all() for state in kept.states)


def test_a_full_disk_is_a_line_and_keeps_what_was_saved(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(
        '[geometry]\nkind = "circle"\ncells = 64\n[attention]\nbeta = 2.0\n'
        '[equation]\ndirection = "ascent"\n[start]\nkind = "perturbed_uniform"\n'
        "[solve]\nt_end = 1.0\nsave_every = 0.1\n"
    )
    written, left = RunWriter.save, iter(range(4))

    def save_until_full(writer, *args) -> None:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device", "x.zarr/density")
        written(writer, *args)

    monkeypatch.setattr(RunWriter, "save", save_until_full)
    assert main(["run", "run.toml", "--quiet", "--out", "x.zarr"]) == 2
    said = capsys.readouterr().err
    assert said == "mfpde run: No space left on device: x.zarr/density\n"
    assert len(load("x.zarr").times) == 4
