"""netlink."""
