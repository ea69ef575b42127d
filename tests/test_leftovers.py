"""What a trial leaves behind is ended, what was there before is not."""

import subprocess

from nettop.trials.leftovers import ended


def test_only_what_came_in_between_is_ended() -> None:
    stays = subprocess.Popen(["sleep", "600"])
    try:
        with ended():
            deaf = subprocess.Popen(
                ["sh", "-c", "trap '' TERM; sleep 600 & echo ready; wait; sleep 600"],
                stdout=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            assert deaf.stdout is not None
            deaf.stdout.readline()
        assert deaf.wait(timeout=20) != 0
        deaf.stdout.close()
        assert stays.poll() is None
    finally:
        stays.kill()
        stays.wait()
