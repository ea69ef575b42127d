/* The beginning of the one file: unpack once into a cache, then become the Python in it.
 *
 * The cache is a folder named by the hash of the content. Nobody else may be able to change it or a
 * folder on the way to it; the first of `places` where that is so and where programs may run is
 * used. A lock lets one start unpack while others wait; a folder has its name only when it is whole.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#define PLACES 5
#define C_LIBRARY                                                                                  \
    "Python does not start: glibc 2.17 or newer is needed; look at this host from another one: "  \
    "nettop --host \"ssh NAME\""

extern const char payload[], payload_end[]; /* one zstd frame of entries: payload.S */

struct entry { /* then the name with its NUL, then the bytes */
    uint32_t mode, named;
    uint64_t size;
};

static char places[PLACES][PATH_MAX];
static const char *reasons[PLACES]; /* why a place is not used */
static char self[PATH_MAX];
static uid_t me;
static volatile sig_atomic_t stopped; /* the signal that came while unpacking */

static void fail(const char *format, ...) {
    va_list words;
    va_start(words, format);
    fputs("nettop: ", stderr);
    vfprintf(stderr, format, words);
    fputs("\n", stderr);
    exit(2);
}

static void stop(int number) { stopped = number; }

/* into = folder/name; -1 if that is too long. */
static int path(char *into, const char *folder, const char *name) {
    int length = snprintf(into, PATH_MAX, "%s/%s", folder, name);
    if (length < PATH_MAX) return 0;
    errno = ENAMETOOLONG;
    return -1;
}

static void choose_places(void) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int at = 0;
    if (me == 0)
        snprintf(places[at++], PATH_MAX, "/var/cache/nettop");
    else if (cache && cache[0] == '/')
        snprintf(places[at++], PATH_MAX, "%s/nettop", cache);
    else if (home && home[0] == '/')
        snprintf(places[at++], PATH_MAX, "%s/.cache/nettop", home);
    snprintf(places[at++], PATH_MAX, "/var/tmp/nettop-%u", me);
    snprintf(places[at++], PATH_MAX, "/tmp/nettop-%u", me);
    snprintf(places[at++], PATH_MAX, "/run/user/%u/nettop", me);
    snprintf(places[at++], PATH_MAX, "/dev/shm/nettop-%u", me);
}

/* Why others could change the place, which becomes its real path; NULL if they cannot. */
static const char *unsafe(char *place) {
    char real[PATH_MAX];
    struct stat found;
    if (lstat(place, &found)) return strerror(errno);
    if (!S_ISDIR(found.st_mode)) return "it is no folder";
    if (found.st_uid != me) return "it belongs to another user";
    if (found.st_mode & 022) return "others can write there";
    if (!realpath(place, real)) return strerror(errno);
    strcpy(place, real);
    for (char *end; (end = strrchr(real, '/'));) { /* each folder on the way, / at last */
        end[end == real] = 0;
        if (lstat(real, &found)) return strerror(errno);
        if (found.st_uid != 0 && found.st_uid != me) return "a folder above belongs to another user";
        if (found.st_mode & 022 && !(found.st_mode & S_ISVTX)) return "others can write above";
        if (end == real) break;
    }
    return NULL;
}

static void make_folders(const char *place) {
    char part[PATH_MAX];
    strcpy(part, place);
    for (char *at = part + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = 0;
        if (!mkdir(part, 0700) && me == 0) chmod(part, 0755); /* /var/cache is for all */
    }
    mkdir(part, 0700);
}

static int remove_one(const char *name, const struct stat *s, int kind, struct FTW *f) {
    (void)s, (void)kind, (void)f;
    return remove(name);
}

static void remove_all(const char *folder) { nftw(folder, remove_one, 20, FTW_DEPTH | FTW_PHYS); }

/* Folders that a start left which was killed; the caller has the lock. */
static void remove_unfinished(const char *place) {
    char old[PATH_MAX];
    DIR *listed = opendir(place);
    for (struct dirent *one; listed && (one = readdir(listed));)
        if (!strncmp(one->d_name, ".new-", 5) && !path(old, place, one->d_name)) remove_all(old);
    if (listed) closedir(listed);
}

/* The unpacked entries, checked by the frame's checksum. */
static const char *entries(const char **end) {
    size_t packed = payload_end - payload, size = ZSTD_getFrameContentSize(payload, packed);
    char *all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) fail("%zu MiB of memory are needed to unpack", size >> 20);
    size_t done = ZSTD_decompress(all, size, payload, packed);
    if (ZSTD_isError(done)) fail("%s is damaged: copy it again", self);
    *end = all + done;
    return all;
}

static const char *next(const char *at, struct entry *one, const char **name, const char **bytes) {
    memcpy(one, at, sizeof *one);
    *name = at + sizeof *one;
    *bytes = *name + one->named;
    return *bytes + one->size;
}

static int write_file(const char *where, const char *bytes, uint64_t left, mode_t mode) {
    int file = open(where, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (file < 0) return -1;
    for (ssize_t done; left; bytes += done, left -= done)
        if ((done = write(file, bytes, left)) < 0) {
            if (errno == EINTR && !stopped) { done = 0; continue; }
            int error = errno;
            close(file);
            errno = error;
            return -1;
        }
    return close(file); /* NFS says here that the disk is full */
}

static int write_all(const char *folder) {
    const char *end, *at = entries(&end), *name, *bytes;
    char where[PATH_MAX];
    struct entry one;
    while (at < end && !stopped) {
        at = next(at, &one, &name, &bytes);
        if (path(where, folder, name)) return -1;
        if (S_ISDIR(one.mode) ? mkdir(where, 0700) : write_file(where, bytes, one.size, one.mode))
            return -1;
    }
    return 0;
}

/* 0 if Python starts there; 126 if programs may not run there; else the host cannot run it. */
static int tried(const char *python) {
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0), dup2(null, 1), dup2(null, 2);
        execl(python, python, "-I", "-S", "-c", "", NULL);
        _exit(errno == EACCES || errno == EPERM ? 126 : 127);
    }
    int state = 0;
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR) return 126;
    return WIFEXITED(state) ? WEXITSTATUS(state) : 127;
}

/* Unpack in a place that is safe. NULL, or why that cannot be. */
static const char *fill(const char *place) {
    char made[PATH_MAX], python[PATH_MAX], whole[PATH_MAX];
    struct statvfs system;
    if (!statvfs(place, &system) && system.f_flag & ST_NOEXEC) return "no program may run there";
    if (path(whole, place, KEY) || path(made, place, ".new-XXXXXX")) return strerror(errno);
    int lock = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0 && !flock(lock, LOCK_EX)) { /* else two may unpack, and one of them is used */
        if (!access(whole, F_OK)) return NULL;
        remove_unfinished(place);
    }
    const char *reason = NULL;
    int code = 0;
    if (stopped || !mkdtemp(made) || write_all(made) || path(python, made, "bin/python"))
        reason = strerror(errno);
    else if (!stopped && (code = tried(python)) == 126)
        reason = "no program may run there";
    else if (!stopped && !code && rename(made, whole) && access(whole, F_OK))
        reason = strerror(errno);
    remove_all(made); /* it has another name if it is whole */
    close(lock);
    if (code && !reason && !stopped) fail(C_LIBRARY);
    return reason;
}

/* The same; a signal meanwhile ends the process when nothing unfinished is left. */
static const char *unpack(const char *place) {
    enum { NUMBER = 3 };
    int caught[NUMBER] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction before[NUMBER], catch = {.sa_handler = stop};
    for (int at = 0; at < NUMBER; at++) {
        sigaction(caught[at], NULL, &before[at]);
        if (before[at].sa_handler != SIG_IGN) sigaction(caught[at], &catch, NULL);
    }
    mode_t mask = umask(077);
    const char *reason = fill(place);
    umask(mask);
    for (int at = 0; at < NUMBER; at++) sigaction(caught[at], &before[at], NULL);
    if (stopped) raise(stopped);
    return reason;
}

/* Become Python; returns only where that cannot be. */
static void become(const char *folder, int count, char **words) {
    char python[PATH_MAX], start[PATH_MAX], file[PATH_MAX + 5];
    char *argv[count + 6];
    if (path(python, folder, "bin/python") || path(start, folder, "bin/nettop")) return;
    sprintf(file, "file=%s", self); /* sys._xoptions: the command line of this nettop */
    char *first[] = {python, "-I", "-X", file, start};
    memcpy(argv, first, sizeof first);
    memcpy(argv + 5, words + 1, count * sizeof *words); /* with the NULL at the end */
    execv(python, argv);
    if (errno == ENOENT && !access(python, F_OK)) fail(C_LIBRARY); /* no loader: musl */
}

static long files;

static int count_one(const char *name, const struct stat *s, int kind, struct FTW *f) {
    (void)name, (void)s, (void)f;
    files += kind != FTW_D;
    return 0;
}

static int same(const char *where, const struct entry *one, const char *bytes) {
    struct stat found;
    if (lstat(where, &found) || found.st_uid != me || found.st_mode != one->mode) return 0;
    if (S_ISDIR(one->mode)) return 1;
    int file = open(where, O_RDONLY | O_CLOEXEC);
    int equal = file >= 0 && (uint64_t)found.st_size == one->size;
    if (equal && one->size) {
        void *now = mmap(NULL, one->size, PROT_READ, MAP_PRIVATE, file, 0);
        equal = now != MAP_FAILED && !memcmp(now, bytes, one->size);
        if (now != MAP_FAILED) munmap(now, one->size);
    }
    close(file);
    return equal;
}

/* --self-check: every unpacked file is what was packed, and no other is there. */
static void check(const char *folder) {
    const char *end, *at = entries(&end), *name, *bytes;
    char where[PATH_MAX];
    struct entry one;
    long wanted = 0;
    while (at < end) {
        at = next(at, &one, &name, &bytes);
        wanted += !S_ISDIR(one.mode);
        if (path(where, folder, name) || !same(where, &one, bytes))
            fail("%s/%s is not as it was packed: remove %s", folder, name, folder);
    }
    nftw(folder, count_one, 20, FTW_PHYS);
    if (files != wanted)
        fail("%s has %ld files, not %ld: remove it", folder, files, wanted);
    printf("%ld files in %s are as they were packed\n", files, folder);
    fflush(stdout);
}

/* --licenses: the packed file of that name. */
static int print_licenses(void) {
    const char *end, *at = entries(&end), *name, *bytes;
    struct entry one;
    while (at < end) {
        at = next(at, &one, &name, &bytes);
        if (!strcmp(name, "LICENSES")) fwrite(bytes, 1, one.size, stdout);
    }
    return fflush(stdout) ? 3 : 0;
}

/* Check, if that is asked, and say the hash of the file by Python; else become nettop. */
static void act(const char *folder, int count, char **words) {
    char python[PATH_MAX];
    if (count != 2 || strcmp(words[1], "--self-check")) return become(folder, count, words);
    check(folder);
    if (path(python, folder, "bin/python")) return;
    execl(python, python, "-I", "-S", "-c",
          "import hashlib,sys; print('sha256',"
          "hashlib.file_digest(open(sys.argv[1],'rb'),'sha256').hexdigest(),sys.argv[1])",
          self, NULL);
}

int main(int count, char **words) {
    char folder[PATH_MAX];
    me = geteuid();
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) snprintf(self, sizeof self, "%s", words[0]);
    if (count == 2 && !strcmp(words[1], "--licenses")) return print_licenses();
    choose_places();
    for (int at = 0; at < PLACES && places[at][0]; at++) { /* unpacked by an earlier start */
        if (path(folder, places[at], KEY) || access(folder, F_OK)) continue;
        if ((reasons[at] = unsafe(places[at])) || path(folder, places[at], KEY)) continue;
        act(folder, count, words);
        reasons[at] = strerror(errno);
    }
    for (int at = 0; at < PLACES && places[at][0]; at++) {
        if (reasons[at]) continue;
        make_folders(places[at]);
        if ((reasons[at] = unsafe(places[at])) || (reasons[at] = unpack(places[at]))) continue;
        if (path(folder, places[at], KEY)) continue;
        act(folder, count, words);
        reasons[at] = strerror(errno);
    }
    fputs("nettop: there is no place to unpack to:", stderr);
    for (int at = 0; at < PLACES && places[at][0]; at++)
        fprintf(stderr, "%s %s: %s", at ? ";" : "", places[at], reasons[at]);
    fputs("\n", stderr);
    return 2;
}
