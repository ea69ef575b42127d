# Install the one file on standard input for the user that runs this, say whether it is installed,
# or remove it. $1: install, look or forget. $2: sudo, or direct. install: $3 machine, $4 SHA-256.
# forget: $3 keep, if the journal stays. The last line that is printed: nettop-install WORD …
umask 077
export LC_ALL=C
end() { echo "nettop-install $*"; exit; }
me=$(id -u)
if [ "$me" = 0 ]; then
    above=/opt cache=/var/cache/nettop journal=/var/lib/nettop
    parents='/var/cache /var/lib /var /run/user/0 /run/user'
else
    above=${XDG_CACHE_HOME:-${HOME-}/.cache} journal='' parents=''
    cache=$above/nettop
    case $above in /?*) ;; *) end no 'HOME is no folder there' ;; esac
fi
place=$above/nettop
new=$place/.put

owned() { # Whether it is a folder of this user, and no symbolic link.
    [ -d "$1" ] && [ ! -h "$1" ] || return
    set -- $(ls -ldn "$1")
    [ "$3" = "$me" ]
}

home=${HOME-}
[ -n "$home" ] && owned "$home" || home=$(eval "echo ~$(id -un)") # as files/trust.py does for root
state=${XDG_STATE_HOME:-$home/.local/state} config=${XDG_CONFIG_HOME:-$home/.config}

safe() { # Whether nobody else can change the folder or one above it.
    at=$(cd -P "$1" && pwd -P) || return
    while :; do
        set -- $(ls -ldn "$at")
        case $3 in 0 | "$me") ;; *) return 1 ;; esac
        case $1 in
            d????????[tT]*) ;;
            ????????w*) return 1 ;;
            ?????w*) [ "$4" = 0 ] || return 1 ;;
        esac
        [ "$at" != / ] || return 0
        at=${at%/*}
        at=${at:-/}
    done
}

made() { # What this and the file make here, where it exists: all of it goes, or an empty folder.
    for one in "$place" "$cache" "/var/tmp/nettop-$me" "/tmp/nettop-$me" "/run/user/$me/nettop" \
        "/dev/shm/nettop-$me"; do
        owned "$one" || continue
        for inner in "$one"/nettop "$one"/before "$one"/.put "$one"/.new-?????? \
            "$one"/????????????????????????????????; do # launch.c: the hash of the content
            [ ! -e "$inner" ] || echo "all $inner"
        done
        echo "empty $one"
    done
    for one in "$state/nettop" "$config/nettop"; do # what the owner puts there himself stays
        owned "$one" || continue
        for inner in results unfinished view.json processor muted config.toml; do
            [ ! -e "$one/$inner" ] || echo "all $one/$inner"
        done
        echo "empty $one"
    done
    [ -z "$journal" ] || [ ! -e "$journal" ] || echo "all $journal"
    for one in "$state" "${state%/*}" "$config"; do
        [ "$one" = "$home" ] || ! owned "$one" || echo "empty $one"
    done
    for one in $parents "$above"; do
        [ ! -e "$one" ] || echo "empty $one"
    done
}

clean() { # Remove what was not there before; $1: what stays.
    made | while read -r how one; do
        case "
$before
" in *"
$how $one
"*) continue ;; esac
        if [ "$how" = empty ]; then
            rmdir "$one" 2>/dev/null
        elif [ "$one" != "$1" ]; then
            rm -rf "$one"
        fi
    done
}

hash() {
    sum=$(sha256sum "$1" 2>/dev/null || openssl dgst -sha256 -r "$1" 2>/dev/null) || return
    echo "${sum%% *}"
}

no() { # End with the reason; the host is as before.
    rm -f "$new"
    [ -z "$first" ] || clean ''
    end no "$*"
}

if [ "$1" = install ]; then
    machine=$(uname -m)
    [ "$machine" = "$3" ] || end machine "$machine"
    ! other=$(command -v nettop) || end no "nettop is installed there: $other"
    [ ! -t 0 ] || end no 'this prefix has a terminal, which changes what is sent: leave out -t'
    hash /dev/null >/dev/null || end no 'the file cannot be checked there: no sha256sum, no openssl'
    first='' before=$(made)
    [ -z "$journal" ] || [ ! -e "$journal/before" ] || before=$(cat "$journal/before")
    if [ ! -e "$place/before" ]; then
        [ ! -e "$place/nettop" ] || end no "$place/nettop is there, but not by --install"
        first=yes
    fi
    trap 'no interrupted' HUP INT TERM
    if [ "$(hash "$place/nettop")" != "$4" ]; then
        [ "$me" != 0 ] || mkdir -m 755 /opt 2>/dev/null
        for one in "$above" "$place"; do
            why=$([ -d "$one" ] || mkdir "$one" 2>&1) || no "cannot make $one: ${why##*: }"
        done
        safe "$place" || no "other users can change $place or a folder above it"
        [ -z "$first" ] || why=$({ echo "$before" | cat >"$place/before"; } 2>&1) ||
            no "cannot write to $place: ${why##*: }"
        rm -f "$new"
        why=$({ cat >"$new"; } 2>&1) || no "cannot write to $place: ${why##*: }"
        [ -s "$new" ] || no 'this prefix does not pass on standard input: docker and kubectl need' \
            'exec -i, ssh no -n'
        [ "$(hash "$new")" = "$4" ] || no 'what arrived is not what was sent: try again'
        chmod 700 "$new"
        told=$("$new" --version 2>&1 </dev/null)
        case $?-$told in
            0-*'nettop '[0-9]*) ;;
            126-*) no "no program may run in $place" ;;
            *) no "the file does not run there: ${told##*nettop: }" ;;
        esac
        mv -f "$new" "$place/nettop" || no "cannot write to $place"
    fi
    python=python
    python3 -I -S -c 'import sys; sys.exit(sys.version_info < (3, 6))' 2>/dev/null || python=none
    end at "$2" "$python" "$place/nettop"
fi
[ -e "$place/before" ] || end none "$2" "$me"
[ "$1" = forget ] || end at "$2" "$me"
before=$(cat "$place/before")
kept=
case "
$before
" in *"
all $journal
"*) ;; *) [ "$3" != keep ] || kept=$journal ;; esac
clean "$kept"
[ -z "$journal" ] || rm -f "$journal/before"
# an --install that comes to undo the rest knows what was there before the first one
[ -z "$kept" ] || [ ! -e "$kept" ] || echo "$before" >"$kept/before"
[ ! -e "$place/nettop" ] || end no "cannot remove $place/nettop"
[ -z "$journal" ] || [ ! -e "$journal" ] || end gone "$journal"
end gone
