from evade.cli.main import main
from run_folders import make_finished_run


def test_a_report_is_written_verified_and_found_wrong(tmp_path, capsys):
    make_finished_run(tmp_path / "runs" / "one")
    words = ["report", str(tmp_path / "runs"), "-o", str(tmp_path / "report")]
    assert main([*words, "--verify"]) == 2
    assert "Write the report before verifying it" in capsys.readouterr().err
    assert main(words) == 0
    page = tmp_path / "report" / "index.html"
    assert capsys.readouterr().out == f"{page}\n"
    assert main([*words, "--verify"]) == 0
    assert "match the 1 run." in capsys.readouterr().out
    page.write_text(page.read_text().replace(">2.00<", ">2.01<"))
    assert main([*words, "--verify"]) == 2
    assert "does not match its runs" in capsys.readouterr().err
