"""Readers of published instances: small files in each format, written here."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from packer.errors import InputError
from packer.model import PODS
from perf.caprara_toth import SIZES, TRIPLET_SIZES, caprara_toth, read_published
from perf.instances import Bin, Instance, Item, Outcome, problem, read, read_bounds, without_choices


def test_quoted_sets_hold_many_instances_and_take_bpplib_names(tmp_path: Path) -> None:
    """hard28 and the .BPP sets: 'NAME', kinds, capacity, size and count."""
    path = tmp_path / "hard28"
    path.write_text("'BPP    14'\n 2\n 100\n 60 2\n 40 1\n'BPP    15'\n 1\n 100\n 50 4\n")
    first, second = read(path, {"Hard28_BPP14": (2, 2)})
    assert first == Instance("Hard28_BPP14", (Bin((100,)),), (Item(((60,),), 2), Item(((40,),), 1)), 2, 2)
    assert second.lower is None
    assert second.item_count == 4


def test_falkenauer_triplets_are_counted_in_tenths(tmp_path: Path) -> None:
    """36.6 is no integer, and the solver's are."""
    path = tmp_path / "binpack5.txt"
    path.write_text("1\n t60_00 \n 100.0 3 1\n36.6\n26.7\n36.7\n")
    (instance,) = read(path)
    assert instance.bins == (Bin((1000,)),)
    assert [item.choices[0][0] for item in instance.items] == [367, 366, 267]
    assert instance.upper == 1


def test_scholl_sets_come_zipped(tmp_path: Path) -> None:
    """One instance a member of the archive: items, capacity, one size a line; equal sizes are joined."""
    path = tmp_path / "bin1data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("N1C1W1_A.BPP", "3\n100\n99\n70\n70\n")
    (instance,) = read(path)
    assert instance == Instance("N1C1W1_A", (Bin((100,)),), (Item(((99,),), 1), Item(((70,),), 2)))


def test_vector_formats_have_dimensions_bin_types_and_choices(tmp_path: Path) -> None:
    """VPSolver's .vbp and .mvp."""
    plain, multiple = tmp_path / "a.vbp", tmp_path / "b.mvp"
    plain.write_text("2\n10 20\n1\n3 4 5\n")
    multiple.write_text("1\n2\n100 7 -1\n50 3 1\n1\n2 1\n80\n40\n")
    assert read(plain)[0] == Instance("a.vbp", (Bin((10, 20)),), (Item(((3, 4),), 5),))
    assert read(multiple)[0] == Instance("b.mvp", (Bin((100,), 7), Bin((50,), 3, 1)), (Item(((80,), (40,)), 1),))


def test_choices_are_spelled_out_as_instances_without() -> None:
    """Two items with two choices each: both the one, one of each, both the other."""
    instance = Instance("choice", (Bin((10,)),), (Item(((1,), (2,)), 2),))
    found = [tuple((item.choices[0][0], item.count) for item in way.items) for way in without_choices(instance)]
    assert found == [((1, 2),), ((1, 1), (2, 1)), ((2, 2),)]


def test_an_instance_becomes_pods_and_offerings() -> None:
    """Dimensions are resources, a unit of cost is a dollar, stock is kept, slots never bind."""
    made = problem(Instance("x", (Bin((10, 0), 3, 2),), (Item(((4, 0),), 2),)))
    assert [dict(pod.spec.requests) for pod in made.pods] == [{"example.com/0": 4}] * 2
    (offering,) = made.offerings
    assert offering.price_microusd_per_hour == 3_000_000
    assert offering.available_count == 2
    assert offering.allocatable[PODS] > 10**6


def test_what_is_no_instance_is_refused_by_name(tmp_path: Path) -> None:
    """A wrong path should not look like an empty instance."""
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    with pytest.raises(InputError, match=r"notes\.txt"):
        read(path)


def test_bounds_and_published_means_are_tables(tmp_path: Path) -> None:
    """BPPLIB's bounds by name; Brandão's optima by class and size, class 10 written the other way round."""
    (tmp_path / "bounds.tsv").write_text("A\t3\t4\nB\t5\t5\n")
    assert read_bounds(tmp_path / "bounds.tsv") == {"A": (3, 4), "B": (5, 5)}
    (tmp_path / "z.csv").write_text("class_or_size,n,instance,z_star,lp_bound\n1,25,1,6,5.7\n1,25,2,7,6.2\n24,class10,1,8,8\n")
    assert read_published(tmp_path / "z.csv") == {(1, 25): 6.5, (10, 24): 8.0}


@pytest.mark.parametrize("kind", range(1, 11))
def test_regenerated_classes_keep_their_ranges(kind: int) -> None:
    """Every item fits a bin alone, and a seed gives the same instance again."""
    for size in TRIPLET_SIZES if kind == 10 else SIZES:
        instance = caprara_toth(kind, size, 1)
        assert instance.item_count == size
        assert instance == caprara_toth(kind, size, 1)
        (bin_,) = instance.bins
        assert all(0 < amount <= room for item in instance.items for amount, room in zip(item.choices[0], bin_.capacity, strict=True))


def test_triplets_fill_their_bins_exactly() -> None:
    """Class 10's optimum is known: a third of its items."""
    instance = caprara_toth(10, 51, 4)
    loads = [sum(item.choices[0][d] * item.count for item in instance.items) for d in (0, 1)]
    assert loads == [17_000, 17_000]
    assert instance.upper == 17


@pytest.mark.parametrize(
    ("bound", "cost", "sound"), [(17.0, 17, True), (16.2, 18, True), (17.1, 17, False), (16.0, 19, False), (16.0, -1, False)]
)
def test_an_outcome_is_sound_within_a_bin_and_below_its_bound(bound: float, cost: int, sound: bool) -> None:
    """A bound above the known optimum would be a wrong proof; a plan two bins above is too weak."""
    assert Outcome(caprara_toth(10, 51, 4), bound, cost, 0.0).sound is sound
