# bash completion of nettop, made by `nettop completion bash`
_nettop() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    local command=${COMP_WORDS[1]} offer="" options=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ] && [[ $cur != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "advise apply compare completion confirm explain export get journal limits man mute prove rate record replay results rules schema serve set show snapshot study sweep test tune undo watch" -- "$cur")
        return
    fi
    [[ $command == -* ]] && command=top
    case $command in
    advise)
        options="--json --seconds --profile --interface --all --fail-on --root --replay --netns --help"
        case $prev in
        --profile) offer='compgen -W "bulk-lan bulk-wan latency capture server" -- "$cur"' ;;
        --interface) offer='compgen -W "$(command ls /sys/class/net 2>/dev/null)" -- "$cur"' ;;
        --fail-on) offer='compgen -W "critical warning advice info never" -- "$cur"' ;;
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='' ;;
        esac
        ;;
    apply)
        options="--dry-run --confirm --keep --seconds --profile --json --root --replay --netns --help"
        case $prev in
        --profile) offer='compgen -W "bulk-lan bulk-wan latency capture server" -- "$cur"' ;;
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='' ;;
        esac
        ;;
    compare)
        options="--seconds --json --help"
        case $prev in
        *) offer='compgen -f -- "$cur"' ;;
        esac
        ;;
    completion)
        options=" --help"
        case $prev in
        *) offer='compgen -W "bash zsh fish" -- "$cur"' ;;
        esac
        ;;
    confirm)
        options="--json --help"
        case $prev in
        *) offer='' ;;
        esac
        ;;
    explain)
        options="--json --seconds --profile --root --replay --netns --help"
        case $prev in
        --profile) offer='compgen -W "bulk-lan bulk-wan latency capture server" -- "$cur"' ;;
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='compgen -W "$(nettop rules list 2>/dev/null | awk '\''NF > 2 {print $2}'\'')" -- "$cur"' ;;
        esac
        ;;
    export)
        options="--format --seconds --profile --json --root --replay --netns --help"
        case $prev in
        --format) offer='compgen -W "shell sysctl systemd ansible" -- "$cur"' ;;
        --profile) offer='compgen -W "bulk-lan bulk-wan latency capture server" -- "$cur"' ;;
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='' ;;
        esac
        ;;
    get)
        options="--json --root --replay --netns --help"
        case $prev in
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='' ;;
        esac
        ;;
    journal)
        options="--json --help"
        case $prev in
        *) offer='' ;;
        esac
        ;;
    limits)
        options="--speed --mtu --protocol --ipv6 --no-timestamps --vlan --rtt --json --help"
        case $prev in
        --protocol) offer='compgen -W "tcp udp" -- "$cur"' ;;
        *) offer='' ;;
        esac
        ;;
    man)
        options=" --help"
        case $prev in
        *) offer='' ;;
        esac
        ;;
    mute)
        options="--list --remove --json --help"
        case $prev in
        *) offer='' ;;
        esac
        ;;
    prove)
        options="--to --peer --seconds --warmup --streams --reverse --bidirectional --udp --rate --length --window --mss --congestion --zero-copy --cpu-here --cpu-there --port --interface --sizes --spacings --count --neighbour --pid --tool --metric --pairs --most --budget --no-keep --profile --look --json --root --replay --netns --help"
        case $prev in
        --interface) offer='compgen -W "$(command ls /sys/class/net 2>/dev/null)" -- "$cur"' ;;
        --tool) offer='compgen -W "$(nettop test list 2>/dev/null | awk '\''{print $1}'\'')" -- "$cur"' ;;
        --profile) offer='compgen -W "bulk-lan bulk-wan latency capture server" -- "$cur"' ;;
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='' ;;
        esac
        ;;
    rate)
        options="--seconds --json --root --replay --netns --help"
        case $prev in
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='compgen -W "$(command ls /sys/class/net 2>/dev/null)" -- "$cur"' ;;
        esac
        ;;
    record)
        options="--seconds --interval --comment --keep-names --keep-addresses --json --root --replay --netns --help"
        case $prev in
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='compgen -f -- "$cur"' ;;
        esac
        ;;
    replay)
        options="--interface --profile --help"
        case $prev in
        --interface) offer='compgen -W "$(command ls /sys/class/net 2>/dev/null)" -- "$cur"' ;;
        --profile) offer='compgen -W "bulk-lan bulk-wan latency capture server" -- "$cur"' ;;
        *) offer='compgen -f -- "$cur"' ;;
        esac
        ;;
    results)
        options="--json --help"
        case $prev in
        *) offer='compgen -W "list show compare learned" -- "$cur"' ;;
        esac
        ;;
    rules)
        options="--markdown --json --help"
        case $prev in
        *) offer='compgen -W "list show check test" -- "$cur"' ;;
        esac
        ;;
    schema)
        options="--json --help"
        case $prev in
        *) offer='' ;;
        esac
        ;;
    serve)
        options="--port --interface --interval --demo --root --replay --netns --help"
        case $prev in
        --interface) offer='compgen -W "$(command ls /sys/class/net 2>/dev/null)" -- "$cur"' ;;
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='' ;;
        esac
        ;;
    set)
        options="--dry-run --confirm --keep --before --finding --ssh-peer --json --root --replay --netns --help"
        case $prev in
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='' ;;
        esac
        ;;
    show)
        options="--once --width --height --interval --interface --profile --filter --root --replay --netns --help"
        case $prev in
        --interface) offer='compgen -W "$(command ls /sys/class/net 2>/dev/null)" -- "$cur"' ;;
        --profile) offer='compgen -W "bulk-lan bulk-wan latency capture server" -- "$cur"' ;;
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='compgen -W "overview cores nic flows advisor tests history journal" -- "$cur"' ;;
        esac
        ;;
    snapshot)
        options="--json --seconds --table --root --replay --netns --help"
        case $prev in
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='' ;;
        esac
        ;;
    study)
        options="--to --peer --seconds --warmup --streams --reverse --bidirectional --udp --rate --length --window --mss --congestion --zero-copy --cpu-here --cpu-there --port --interface --sizes --spacings --count --neighbour --pid --only --format --json --root --replay --netns --help"
        case $prev in
        --interface) offer='compgen -W "$(command ls /sys/class/net 2>/dev/null)" -- "$cur"' ;;
        --format) offer='compgen -W "text markdown svg json" -- "$cur"' ;;
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='' ;;
        esac
        ;;
    sweep)
        options="--value --and --and-value --keep-best --to --peer --seconds --warmup --streams --reverse --bidirectional --udp --rate --length --window --mss --congestion --zero-copy --cpu-here --cpu-there --port --interface --sizes --spacings --count --neighbour --pid --tool --metric --pairs --most --budget --json --root --replay --netns --help"
        case $prev in
        --interface) offer='compgen -W "$(command ls /sys/class/net 2>/dev/null)" -- "$cur"' ;;
        --tool) offer='compgen -W "$(nettop test list 2>/dev/null | awk '\''{print $1}'\'')" -- "$cur"' ;;
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='' ;;
        esac
        ;;
    test)
        options="--to --peer --seconds --warmup --streams --reverse --bidirectional --udp --rate --length --window --mss --congestion --zero-copy --cpu-here --cpu-there --port --interface --sizes --spacings --count --neighbour --pid --no-keep --json --root --replay --netns --help"
        case $prev in
        --interface) offer='compgen -W "$(command ls /sys/class/net 2>/dev/null)" -- "$cur"' ;;
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='compgen -W "$(nettop test list 2>/dev/null | awk '\''{print $1}'\'')" -- "$cur"' ;;
        esac
        ;;
    top)
        options="--root --replay --netns --demo --interface --interval --profile --plain --help"
        case $prev in
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        --interface) offer='compgen -W "$(command ls /sys/class/net 2>/dev/null)" -- "$cur"' ;;
        --profile) offer='compgen -W "bulk-lan bulk-wan latency capture server" -- "$cur"' ;;
        *) offer='' ;;
        esac
        ;;
    tune)
        options="--to --peer --seconds --warmup --streams --reverse --bidirectional --udp --rate --length --window --mss --congestion --zero-copy --cpu-here --cpu-there --port --interface --sizes --spacings --count --neighbour --pid --tool --metric --pairs --most --budget --profile --look --json --root --replay --netns --help"
        case $prev in
        --interface) offer='compgen -W "$(command ls /sys/class/net 2>/dev/null)" -- "$cur"' ;;
        --tool) offer='compgen -W "$(nettop test list 2>/dev/null | awk '\''{print $1}'\'')" -- "$cur"' ;;
        --profile) offer='compgen -W "bulk-lan bulk-wan latency capture server" -- "$cur"' ;;
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='' ;;
        esac
        ;;
    undo)
        options="--all --force --forget --json --root --replay --netns --help"
        case $prev in
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='' ;;
        esac
        ;;
    watch)
        options="--json --for --interval --profile --interface --fail-on --root --replay --netns --help"
        case $prev in
        --profile) offer='compgen -W "bulk-lan bulk-wan latency capture server" -- "$cur"' ;;
        --interface) offer='compgen -W "$(command ls /sys/class/net 2>/dev/null)" -- "$cur"' ;;
        --fail-on) offer='compgen -W "critical warning advice info never" -- "$cur"' ;;
        --root) offer='compgen -f -- "$cur"' ;;
        --replay) offer='compgen -f -- "$cur"' ;;
        *) offer='' ;;
        esac
        ;;
    esac
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    elif [ -n "$offer" ]; then
        mapfile -t COMPREPLY < <(eval "$offer")
    fi
}
complete -o filenames -F _nettop nettop
