"""`view` and `diff`: proton-viewer's numbers on proton-viewer's tree, and what changed."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console
from variant_builders import comparison, noisy

import protonlab
from protonlab import recorded
from protonlab.cli import main
from protonlab.cli._terminal import fitted
from protonlab.display import profile_views, run_views
from protonlab.formats import read_profile
from protonlab.views import comparison_tree, profile_tree

PROFILES = Path(__file__).parent / "profiles"
RECORDED = Path(protonlab.__file__).parent / "recorded"
VIEWER = json.loads((PROFILES / "viewer_values.json").read_text())
METRICS = ("time/s", "time/ms", "time/us", "time/%", "avg_time/us", "count", "gbyte/s",
           "tflop16/s", "util")  # fmt: skip


def run(*arguments: str | Path) -> Result:
    return CliRunner(catch_exceptions=False).invoke(main, list(map(str, arguments)))


def path_of(name: str) -> Path:
    return next(folder / name for folder in (PROFILES, RECORDED) if (folder / name).exists())


def rows_of(output: str) -> list[str]:
    """Lines of the tree, without title, header and notes."""
    lines = output.splitlines()
    head = next(n for n, line in enumerate(lines) if line.endswith("name"))
    width = lines[head].rindex("name")
    return [line for line in lines[head + 1 :] if re.match(r" *[\d.–].*  $", line[:width])]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    "name", ["tree_scopes_3.9.0.hatchet", "moe_sweep_3.9.0.hatchet", "gpt_train_3.9.0.hatchet"]
)
def test_numbers_are_those_of_proton_viewer(name: str, metric: str) -> None:
    expected = VIEWER[name].get(metric)
    if expected is None:
        pytest.skip("proton-viewer cannot compute it here")
    result = run("view", path_of(name), "-m", metric)
    assert result.exit_code == 0, result.output
    profile = protonlab.load(path_of(name))
    assert isinstance(profile, protonlab.Profile)
    frames = profile.to_dataframe([metric])
    cells = [row.split()[0] for row in rows_of(result.output)]
    assert len(cells) == len(frames)
    factor = 100 if metric == "util" else 1
    for row, kind, cell in zip(frames.index, frames["kind"], cells, strict=True):
        if wanted := expected.get(str(row)):
            assert float(cell) == pytest.approx(factor * wanted, rel=5.1e-3)  # three digits
        elif kind == "kernel":  # proton-viewer gives scopes no rates
            assert cell in ("–", "0")


def test_tree_is_a_tree_with_units_of_its_own() -> None:
    profile = path_of("tree_scopes_3.9.0.hatchet")
    rows = rows_of(run("view", profile, "-m", "time,count").output)
    names = [re.sub(r"^[^A-Za-z_]*(?:[mµn]?s)? *\d+ *", "", row) for row in rows]
    assert names[0].strip() == "ROOT"
    assert re.search(r"^ *[\d.]+ [mµn]?s +\d+  ROOT$", rows[0])
    assert sum("├─ " in row for row in rows) > 2
    assert sum("└─ " in row for row in rows) > 2
    assert any(re.search(r"│  [├└]─ |   └─ ", row) for row in rows)


def test_depth_and_order() -> None:
    train = path_of("gpt_train_3.9.0.hatchet")
    result = run("view", train, "-m", "time/ms", "--depth", "2")
    rows = rows_of(result.output)
    assert [row.rpartition("─ ")[2].split()[-1] for row in rows] == [
        "ROOT", "train_step", "forward", "backward", "optimizer",
    ]  # fmt: skip
    assert re.search(r"^\d+ frames below depth 2 are not shown\.$", result.output, re.MULTILINE)
    rows = rows_of(run("view", train, "-m", "time/ms", "-d", "2", "--order", "widest").output)
    assert [row.split()[-1] for row in rows[2:]] == ["backward", "forward", "optimizer"]


def test_filters_are_anchored_and_say_so_when_nothing_matches() -> None:
    sweep = path_of("moe_sweep_3.9.0.hatchet")
    whole, part = (run("view", sweep, *more).output for more in ((), ("-i", ".*16x128x128x1 .*")))
    assert 0 < len(rows_of(part)) < len(rows_of(whole))
    result = run("view", sweep, "--include", "matmul")
    assert result.exit_code == 1
    assert re.search(
        r"^Error: no kernel matches; patterns are anchored.*\n  _matmul_NNT", result.output
    )
    long = run("view", path_of("gpt_train_3.9.0.hatchet"), "--include", "x")
    assert "\n  multi_tensor_apply_kernel<multiplies<float>>\n" in long.output
    assert "_ZN2at6native" not in long.output
    assert re.search(r"\n  and \d+ more\n$", long.output)
    assert max(map(len, long.output.splitlines()[1:])) <= 80


def test_filters_match_the_labels_that_are_shown() -> None:
    train = path_of("gpt_train_3.9.0.hatchet")
    whole = run("view", train).output
    only = rows_of(run("view", train, "-i", "multi_tensor.*").output)
    assert 1 < len(only) < len(rows_of(whole))
    without = run("view", train, "-e", "elementwise_kernel").output
    assert "─ elementwise_kernel" in whole
    assert "─ elementwise_kernel" not in without
    nothing = run("view", train, "-e", "elemental").output
    assert rows_of(nothing) == rows_of(whole)
    assert "exclude=elemental matches no kernel; patterns are anchored" in nothing


def test_names_do_not_steer_the_terminal(tmp_path: Path) -> None:
    evil, path = "\\u001b]0;pwned\\u0007\\u202e", tmp_path / "evil.hatchet"
    for name in ("tree_scopes_3.9.0.hatchet", "trace_3.9.0.chrome_trace"):
        source = (PROFILES / name).read_text()
        kernel = re.search(r'"name": ?"(\w*kernel\w*)"', source)
        assert kernel is not None
        path.write_text(source.replace(f'"{kernel[1]}"', f'"{evil}{kernel[1]}"'))
        for more in ((), ("-i", "nothing"), ("-m", "nothing")):
            output = run("view", path, *more).output
            assert not re.search("[\x1b\x07\u202e]", output)
            assert more or "\ufffd]0;pwned\ufffd\ufffd" in output


def test_what_a_file_says_of_itself_does_not_steer_the_terminal(tmp_path: Path) -> None:
    evil, path = "\x1b]0;pwned\x07\u202e", tmp_path / "evil.hatchet"
    profile = recorded.moe_sweep()
    info = replace(profile.info, name=evil, gpu=f"{evil}gpu", notes=(f"{evil}note",), include=evil)
    replace(profile, info=info).save(path)
    held = protonlab.load(path)
    run_of_two = protonlab.Run.from_profiles({0: held, 1: held}, name=evil)  # type: ignore[dict-item]
    shown = [
        run("view", path).output,
        run("diff", path, path).output,
        *map(repr, (held, run_of_two, protonlab.roofline(held))),  # type: ignore[arg-type]
        *map(repr, profile_views(held)),  # type: ignore[arg-type]
        *map(repr, run_views(run_of_two, draws=True)),
        repr(replace(comparison(*noisy(20)), names=(evil, "b"), outputs=evil)),
    ]
    assert any("\ufffd]0;pwned\ufffd\ufffdnote" in text for text in shown)
    for text in shown:
        assert not re.search("[\x1b\x07\u202e]", text), text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("viewer_values.json",), "a JSON object without traceEvents"),
        (("tree_scopes_3.9.0.hatchet", "--name", "x"), "--name x: .* is no report, which"),
    ],
)
def test_what_cannot_be_viewed_is_said_so(arguments: Sequence[str], says: str) -> None:
    result = run("view", PROFILES / arguments[0], *arguments[1:])
    assert result.exit_code == 1
    assert re.search(says, result.output), result.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("view", "trace_3.9.0.chrome_trace", "-m", "time", "-d", "2", "--order", "recorded"),
            "--metrics, --depth, --order: .* is a trace, which has no tree",
        ),
        (("view", "tree_scopes_3.9.0.hatchet", "-m", "tiem"), "'tiem' is not a metric"),
        (("diff", *["tree_scopes_3.9.0.hatchet"] * 2, "-m", "tiem"), "'tiem' is not a metric"),
        (("view", "tree_scopes_3.9.0.hatchet", "-i", "("), "include is not a regular expression"),
        (("view", "tree_scopes_3.9.0.hatchet", "-d", "2", "--flame"), "--depth: of the printed"),
        (("view", "tree_scopes_3.9.0.hatchet", "--order", "widest", "-o", "x.html"), "--order: of"),
        (
            ("diff", *["tree_scopes_3.9.0.hatchet"] * 2, "-d", "2", "--flame"),
            "--depth: of the printed tree; a page has all frames, and its flame graph zooms",
        ),
    ],
)
def test_what_was_typed_wrongly_has_an_exit_code_of_its_own(
    arguments: Sequence[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*(PROFILES / each if "3.9.0" in each else each for each in arguments))
    assert result.exit_code == 2
    assert re.search(says, result.output), result.output
    assert list(tmp_path.iterdir()) == []


def test_traces_and_comparisons_say_what_they_hold(tmp_path: Path) -> None:
    trace = PROFILES / "gpt_trace_3.9.0.chrome_trace.gz"
    text = run("view", trace).output
    assert re.search(r"^trace: .*launches.*\n.* idle .*between its first and its last launch", text)
    assert re.search(r"^kernel +time \(µs\) +time \(%\) +count +min \(µs\)", text, re.MULTILINE)
    page = tmp_path / "t.html"
    assert run("view", trace, "-o", page).output == f"Page: {page}\n"
    assert page.read_text().count('<div class="still">') == 1

    measured = comparison(*noisy(30, 1.2))
    measured.save(tmp_path / "c.json")
    assert measured.verdict in run("view", tmp_path / "c.json").output
    assert run("view", tmp_path / "c.json", "-o", page).exit_code == 0
    assert measured.verdict in page.read_text()
    result = run("diff", tmp_path / "c.json", trace)
    assert result.exit_code == 1
    assert "c.json is a comparison of variants, and this needs a profile" in result.output


def test_a_sweep_is_drawn_and_told(tmp_path: Path) -> None:
    page = tmp_path / "s.html"
    result = run("view", RECORDED / "epilogue_sweep_3.9.0.json.gz", "-o", page)
    assert (result.exit_code, result.output) == (0, f"Page: {page}\n")
    text = page.read_text()
    assert text.count('<div class="still">') == 4  # two kernels, a long K and a short one
    assert "&lt;EpilogueSweep: " in text


def test_msgpack_and_empty_profiles_are_viewed() -> None:
    live = run("view", PROFILES / "live_3.9.0.msgpack")
    assert live.exit_code == 0
    assert len(rows_of(live.output)) > 2
    empty = read_profile(b'[{"frame": {"name": "ROOT", "type": "function"}, "metrics": {}, '
                         b'"children": []}, {}]')  # fmt: skip
    console = Console(file=io.StringIO(), width=80)
    console.print(profile_tree(empty))
    assert "ROOT" in console.file.getvalue()  # type: ignore[attr-defined]


def lines(tree: object, **options: object) -> list[str]:
    console = Console(file=io.StringIO(), highlight=False, **options)  # type: ignore[arg-type]
    console.print(tree)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined,no-any-return]


def test_colours_and_long_names_follow_the_terminal() -> None:
    tree = profile_tree(recorded.moe_sweep(), metrics=["time"])
    coloured = lines(tree, width=60, force_terminal=True, color_system="standard")
    rows = [line for line in coloured if "─" in line]
    assert any("\x1b[1;31m" in line for line in coloured)  # bold red: half of the time or more
    assert any("\x1b[33m" in line for line in coloured)
    plain = [re.sub(r"\x1b\[[\d;]*m", "", row) for row in rows]
    assert max(map(len, plain)) <= 60
    assert any(row.endswith("…") for row in plain)
    assert not any("\x1b" in line for line in lines(tree, width=60))


@pytest.mark.parametrize(
    ("width", "kept"),
    [
        (100, ["before (ms)", "after (ms)", "difference (ms)", "ratio", "change"]),
        (70, ["after (ms)", "difference (ms)", "ratio", "change"]),
        (60, ["difference (ms)", "ratio", "change"]),
        (50, ["difference (ms)", "ratio"]),
        (10, ["difference (ms)"]),
    ],
)
def test_a_narrow_diff_keeps_what_changed(width: int, kept: list[str]) -> None:
    whole = comparison_tree(protonlab.compare(recorded.gpt_eager(), recorded.gpt_compiled()))
    tree = fitted(whole, width)
    assert [column.header for column in tree.columns] == kept
    styles = dict(zip([column.header for column in whole.columns], whole.styles, strict=True))
    assert list(tree.styles) == [styles[header] for header in kept]
    left_out = [column.header for column in whole.columns if column.header not in kept]
    said = f"Left out, since the terminal has {width} columns: {', '.join(left_out)}."
    assert (said in tree.notes) is bool(left_out)


def test_name_of_a_profile_is_no_markup() -> None:
    source = (PROFILES / "tree_scopes_3.9.0.hatchet").read_text()
    (root,) = re.findall(r'"name": "(ROOT)"', source)[:1]
    profile = read_profile(source.replace(f'"{root}"', '"[red]x[/nope]"').encode())
    assert any("[red]x[/nope]" in line for line in lines(profile_tree(profile), width=200))
    assert any("[red]x[/nope]" in line for line in lines(comparison_tree(
        protonlab.compare(profile, profile)), width=300))  # fmt: skip


# ---- diff


def test_diff_shows_what_changed_and_how_it_was_aligned() -> None:
    before, after = (PROFILES / f"ddp_rank{rank}_3.9.0.hatchet" for rank in (0, 1))
    result = run("diff", before, after, "-m", "time/ms")
    assert result.exit_code == 0
    comparison = protonlab.compare(
        *map(protonlab.load, (before, after)),  # type: ignore[arg-type]
        metric="time/ms",
    )
    assert result.output.splitlines()[0] == comparison.summary
    assert result.output.splitlines()[-1] == comparison.rule
    rows = rows_of(result.output)
    assert len(rows) == len(comparison.frames)
    first = rows[0].split()
    assert [float(first[n].replace("+", "")) for n in range(4)] == pytest.approx(
        comparison.frames.iloc[0][["before", "after", "difference", "ratio"]].tolist(), rel=5e-3
    )
    assert sum(" added " in row for row in rows) == (comparison.frames["change"] == "added").sum()


def test_diff_of_an_unknown_metric_is_said_so() -> None:
    path = PROFILES / "ddp_rank0_3.9.0.hatchet"
    result = run("diff", path, path, "--metric", "gbyte")
    assert result.exit_code == 2
    assert "'gbyte' is not a metric" in result.output


# ---- pages


def test_pages_hold_the_profile_and_spare_files_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    source = path_of("moe_sweep_3.9.0.hatchet")
    for _ in range(2):  # a page of ours may be replaced
        result = run("view", source, "--flame")
        page = tmp_path / "moe_sweep_3.9.0.html"
        assert result.output == f"Page: {page}\n"
    text = page.read_text()
    assert "<title>moe_sweep_3.9.0.hatchet</title>" in text
    assert text.count('<div class="protonlab-figure"><script type="application/json">') == 2
    assert '<div class="code">' not in text
    again = run("view", page, "-m", "time/ms").output
    assert rows_of(again) == rows_of(run("view", source, "-m", "time/ms").output)
    assert "is the file to view" in run("view", page, "--flame").output
    held = page.read_bytes()
    for arguments in (("view", page), ("diff", page, source), ("diff", source, page)):
        result = run(*arguments, "-o", page)
        assert result.exit_code == 1
        assert f"{page} is the file to view; name another page with -o" in result.output
    assert page.read_bytes() == held

    page.write_text("<html>somebody's</html>")
    result = run("view", source, "--flame")
    assert result.exit_code == 1
    assert "exists and was not written by protonlab; name another page with -o" in result.output
    assert page.read_text() == "<html>somebody's</html>"

    result = run("diff", source, source, "-o", "diff.html")
    assert result.exit_code == 0, result.output
    assert (
        "moe_sweep_3.9.0.hatchet → moe_sweep_3.9.0.hatchet" in (tmp_path / "diff.html").read_text()
    )
    held = protonlab.load(tmp_path / "diff.html")  # by the name of its file
    assert list(held) == ["moe_sweep_3.9.0"]
