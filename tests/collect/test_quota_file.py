"""Where the quota of a cgroup is written."""

from nettop.collect import throttling


def test_the_file_of_a_quota_is_that_of_its_hierarchy() -> None:
    assert throttling.file("/web.slice") == "/sys/fs/cgroup/web.slice/cpu.max"
    assert throttling.file("cpu:/web") == "/sys/fs/cgroup/cpu/web/cpu.cfs_quota_us"
