/* SPDX-License-Identifier: Apache-2.0 */
#include "run/program.h"

#include "confine/worker.h"

#include "target/diagnosis.h"
#include "target/heap.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    SCRIPTS_MAX = 5,      /* nesting of interpreters that are scripts: the kernel's limit */
    LINE_MAX_BYTES = 256, /* length of a "#!" line: the kernel's limit */
    HEADERS_MAX = 128,
};

static char *
find_in_path(const char *name)
{
    char *path = g_find_program_in_path(name);
    return path != NULL ? path : strchr(name, '/') != NULL ? g_strdup(name) : NULL;
}

/* The interpreter of a script, NAME for "#!/usr/bin/env NAME"; NULL if it is not a script. */
static char *
script_interpreter(const char *path)
{
    char line[LINE_MAX_BYTES + 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, line, LINE_MAX_BYTES) : -1;
    if (fd >= 0)
        close(fd);
    if (length < 2 || line[0] != '#' || line[1] != '!')
        return NULL;
    line[length] = '\0';
    line[strcspn(line, "\n")] = '\0';
    g_auto(GStrv) words = g_strsplit_set(g_strstrip(line + 2), " \t", -1);
    if (words[0] == NULL)
        return NULL;
    gboolean env = g_str_has_suffix(words[0], "/env");
    char **word = words + (env ? 1 : 0);
    /* Skips options of env(1), such as -S, and assignments. */
    while (env && *word != NULL && (**word == '-' || **word == '\0' || strchr(*word, '=') != NULL))
        word++;
    return *word != NULL ? find_in_path(*word) : NULL;
}

static gboolean
is_elf(const char *path)
{
    char magic[SELFMAG] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    gboolean elf = fd < 0 || (read(fd, magic, SELFMAG) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0);
    if (fd >= 0)
        close(fd);
    return elf;
}

static char *
find_image(const char *path)
{
    char *image = g_strdup(path);
    for (int depth = 0; depth < SCRIPTS_MAX; depth++) {
        char *interpreter = script_interpreter(image);
        if (interpreter == NULL)
            break;
        g_free(image);
        image = interpreter;
    }
    /* execvp() runs text without "#!" in the shell. */
    g_autofree char *file = is_elf(image) ? g_steal_pointer(&image) : g_strdup("/bin/sh");
    g_free(image);
    /* The loader derives $ORIGIN from the file, not from a link to it. */
    g_autofree char *resolved = realpath(file, NULL);
    return g_strdup(resolved != NULL ? resolved : file);
}

static gboolean
is_privileged(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return FALSE;
    gboolean changes_user = (st.st_mode & S_ISUID) != 0 && st.st_uid != getuid();
    gboolean changes_group = (st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid();
    gboolean capable = getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
    return changes_user || changes_group || capable;
}

/* The text of the PT_INTERP segment, or NULL. */
static char *
read_loader(int fd, const Elf64_Ehdr *header)
{
    for (unsigned i = 0; i < header->e_phnum && i < HEADERS_MAX; i++) {
        Elf64_Phdr segment;
        off_t at = (off_t)(header->e_phoff + i * sizeof(segment));
        if (pread(fd, &segment, sizeof(segment), at) != sizeof(segment))
            return NULL;
        if (segment.p_type != PT_INTERP)
            continue;
        char path[PATH_MAX] = "";
        size_t size = MIN(segment.p_filesz, sizeof(path) - 1);
        return pread(fd, path, size, (off_t)segment.p_offset) == (ssize_t)size ? g_strdup(path) : NULL;
    }
    return NULL;
}

/* Whether class and machine are those of this program, and so of the agent built with it. */
static gboolean
is_native(const Elf64_Ehdr *header)
{
    static Elf64_Ehdr own;
    int fd = own.e_machine == 0 ? open("/proc/self/exe", O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        ssize_t length = read(fd, &own, sizeof(own));
        close(fd);
        if (length != sizeof(own))
            return TRUE;
    }
    return header->e_ident[EI_CLASS] == own.e_ident[EI_CLASS] && header->e_machine == own.e_machine;
}

static void
inspect_image(Program *program, int fd)
{
    Elf64_Ehdr header;
    if (pread(fd, &header, sizeof(header), 0) != sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return;
    if (is_privileged(fd))
        program->flags |= PROGRAM_PRIVILEGED;
    if (!is_native(&header)) {
        program->flags |= PROGRAM_FOREIGN;
        return;
    }
    program->loader = read_loader(fd, &header);
    const char *loader = program->loader != NULL ? strrchr(program->loader, '/') : NULL;
    if (loader != NULL && g_str_has_prefix(loader, "/ld-musl-"))
        program->flags |= PROGRAM_MUSL;
}

/* The libraries that the loader would load, as lines "NAME => PATH (ADDRESS)"; the program itself does not run. If the
 * loader fails, *COMPLAINT (COMPLAINT may be NULL) is its message. musl's loader has no --preload. */
static char **
list_libraries(const Program *program, const char *preload, char **complaint)
{
    g_autofree char *list = NULL;
    g_autofree char *said = NULL;
    int status = 0;
    g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
    if (preload != NULL)
        g_strv_builder_add_many(builder, program->loader, "--preload", preload, "--list", program->image, NULL);
    else
        g_strv_builder_add_many(builder, program->loader, "--list", program->image, NULL);
    g_auto(GStrv) words = g_strv_builder_end(builder);
    if (program->loader == NULL ||
        !g_spawn_sync(NULL, words, NULL, G_SPAWN_DEFAULT, NULL, NULL, &list, &said, &status, NULL))
        return g_new0(char *, 1);
    if (complaint != NULL && status != 0)
        *complaint = g_strdup(g_strchomp(said));
    return g_strsplit(list, "\n", -1);
}

/* The path in a line of list_libraries(), or NULL. */
static char *
listed_path(const char *line)
{
    const char *path = strchr(line, '/');
    return path != NULL ? g_strndup(path, strcspn(path, " \t")) : NULL;
}

static void
look_for_jemalloc(Program *program)
{
    program->prefix = diagnosis_jemalloc_prefix(program->image);
    g_auto(GStrv) lines = list_libraries(program, NULL, NULL);
    for (char **line = lines; *line != NULL && program->prefix == NULL; line++) {
        g_autofree char *path = listed_path(*line);
        if (path != NULL)
            program->prefix = diagnosis_jemalloc_prefix(path);
    }
    if (program->prefix != NULL)
        program->flags |= PROGRAM_JEMALLOC;
    unsigned traits = program->prefix == NULL ? heap_traits(program->image) : 0;
    program->flags |= (traits & HEAP_EXPORTS_MALLOC) != 0 ? PROGRAM_OWN_MALLOC : 0u;
    program->flags |= (traits & HEAP_STRIPPED_JEMALLOC) != 0 ? PROGRAM_STRIPPED_JEMALLOC : 0u;
}

Program *
program_find(const char *name, GError **error)
{
    g_autofree char *path = find_in_path(name);
    if (path == NULL) {
        g_set_error(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED, "cannot run '%s': no such program in PATH", name);
        return NULL;
    }
    if (access(path, X_OK) != 0) {
        g_set_error(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED, "cannot run '%s': %s", name, g_strerror(errno));
        return NULL;
    }
    Program *program = g_new0(Program, 1);
    program->path = g_steal_pointer(&path);
    program->image = find_image(program->path);
    int fd = open(program->image, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        inspect_image(program, fd);
        close(fd);
    }
    look_for_jemalloc(program);
    worker_end();
    return program;
}

void
program_free(Program *program)
{
    g_free(program->path);
    g_free(program->image);
    g_free(program->loader);
    g_free(program->prefix);
    g_free(program);
}

char *
program_find_library(const Program *program, const char *soname, char **complaint)
{
    *complaint = NULL;
    g_auto(GStrv) lines = list_libraries(program, soname, complaint);
    for (char **line = lines; *line != NULL; line++)
        if (g_str_has_prefix(g_strstrip(*line), soname))
            return listed_path(*line);
    return NULL;
}
