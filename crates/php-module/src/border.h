/*
 * The border between trivet and this module file: plain C data, whose twin in Rust is
 * `crates/php/src/border.rs`. The two files may come from different builds, so the first member of
 * what crosses first is a number, and whoever changes anything here raises it.
 *
 * Texts that have a length may contain any byte, and end with a zero that is not counted where the
 * member says so. What the server passes stays valid until the function that it was passed to
 * returns; what the server answers stays valid until it is asked again.
 */
#ifndef TRIVET_PHP_BORDER_H
#define TRIVET_PHP_BORDER_H

#include <stddef.h>
#include <stdint.h>

#define TRIVET_PHP_BORDER 1

/* Some bytes; `at` is NULL where there is nothing, not even an empty text. */
struct border_text {
    const char *at;
    size_t length;
};

struct border_pair {
    struct border_text name;  /* ends with a zero */
    struct border_text value; /* ends with a zero */
};

/* A line of configuration: php_value and the like. */
struct border_setting {
    struct border_text name;
    struct border_text value;
    uint32_t is_admin;       /* php_admin_value: scripts and .htaccess files cannot change it */
    uint32_t is_of_htaccess; /* it stands in a .htaccess file */
};

/* What a script may ask the server for while it runs. */
enum border_question {
    BORDER_GET_VARIABLE = 1,    /* first: name; a text */
    BORDER_SET_VARIABLE = 2,    /* first: name, second: value */
    BORDER_GET_NOTE = 3,        /* first: name; a text */
    BORDER_SET_NOTE = 4,        /* first: name, second: value */
    BORDER_VARIABLES = 5,       /* all variables; pairs */
    BORDER_REQUEST_FIELDS = 6,  /* pairs */
    BORDER_RESPONSE_FIELDS = 7, /* pairs */
    BORDER_LOOK_UP = 8,         /* first: a URL; pairs, status is that of the look-up */
    BORDER_INCLUDE = 9,         /* first: a URL; status, and a text where that is a script's file,
                                   which is run here with the pairs as its variables; all else was
                                   written where output goes */
    BORDER_SERVER = 10,         /* what phpinfo() says of the server; pairs */
    BORDER_MODULES = 11,        /* names of modules; pairs without values */
    BORDER_FINISH = 12          /* the client may have what there is: the script goes on alone */
};

/* What the server answers. */
struct border_reply {
    uint32_t status;         /* 200, or what is wrong */
    struct border_text text; /* ends with a zero */
    const struct border_pair *pairs;
    size_t pairs_count;
};

/* Operations on fields of the response (SAPI.h, sapi_header_op_enum, in numbers of our own). */
enum border_field_change {
    BORDER_FIELD_ADD = 1,
    BORDER_FIELD_SET = 2,
    BORDER_FIELD_UNSET = 3,
    BORDER_FIELD_UNSET_ALL = 4
};

/* What the module calls while a script runs; `run` is what was passed with the request. Where a
 * client is gone, the result is 0. */
struct border_host {
    uint32_t (*write)(void *run, const char *at, size_t length);
    uint32_t (*flush)(void *run);
    size_t (*read)(void *run, char *to, size_t room);
    void (*field)(void *run, uint32_t change, struct border_text name, struct border_text value);
    void (*head)(void *run, uint32_t status, struct border_text status_line,
                 struct border_text content_type);
    void (*log)(void *run, int32_t level, struct border_text text);
    void (*ask)(void *run, uint32_t question, struct border_text first, struct border_text second,
                struct border_reply *reply);
};

/* A request. Texts end with a zero. */
struct border_request {
    struct border_text method;
    struct border_text query;           /* nothing where there is no question mark */
    struct border_text path;            /* PHP_SELF, decoded */
    struct border_text file;            /* the script */
    struct border_text content_type;
    struct border_text cookies;
    struct border_text authorization;   /* the field */
    struct border_text user;            /* who the server says it is */
    int64_t content_length;             /* 0 where there is no body */
    uint32_t protocol;                  /* 1001 is HTTP/1.1 */
    uint32_t status;                    /* 200, or that of an error document */
    double time_s;                      /* when it came */
    uint32_t is_source;                 /* show the source, in colours */
    uint32_t padding;
    const struct border_pair *variables;
    size_t variables_count;
    const struct border_setting *settings;
    size_t settings_count;
};

/* How PHP is to be started. */
struct border_start {
    const char *ini_folder;  /* php.ini is there; NULL for what was compiled in */
    const char *scan_folder; /* more files are there; NULL for what was compiled in */
    void (*log)(int32_t level, struct border_text text); /* what PHP says while no script runs */
};

/* What the module is and does. Every function is called on one thread at a time. */
struct border_module {
    uint32_t border;         /* TRIVET_PHP_BORDER of this file's build */
    uint32_t version_id;     /* PHP_VERSION_ID of the headers: 80236 */
    const char *version;     /* of the library that is running */
    uint32_t is_thread_safe; /* built for threads: trivet has no use for it */
    uint32_t sizes;          /* of the structures above, added up: both sides mean the same */
    int (*start)(const struct border_start *start); /* 0: it runs */
    void (*stop)(void);
    void (*enter_child)(void); /* after a fork, before the first script */
    /* What php.ini says of a switch, where no line of the configuration says otherwise. */
    uint32_t (*is_on)(const char *name);
    /* Run a script; the result is the most memory that it took, in bytes. */
    size_t (*run)(const struct border_request *request, const struct border_host *host, void *run);
};

const struct border_module *trivet_php_border(void);

#endif
