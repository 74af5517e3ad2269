/*
 * What the C files of this module share: the run that is under way, and what PHP has to be told.
 */
#ifndef TRIVET_PHP_MODULE_H
#define TRIVET_PHP_MODULE_H

#include "php.h"
#include "SAPI.h"
#include "border.h"

/* A script that runs: SG(server_context) while it does. */
struct script_run {
    const struct border_request *request;
    const struct border_host *host;
    void *run;
    char *content_type; /* what header() said last, or NULL; estrdup */
    /* What $_SERVER is made of: that of the request, or of a script that virtual() runs. */
    const struct border_pair *variables;
    size_t variables_count;
    unsigned depth; /* scripts that virtual() runs within each other */
};

/* The switches of mod_php, which php.ini and the configuration may set. */
struct php_switches {
    bool engine;
    bool xbithack;
    bool last_modified;
};

extern struct php_switches php_switches;
extern zend_module_entry trivet_functions;

/* Have programs started with the signals that they expect (programs.c). */
void guard_programs(void);

/* The server's code runs from here to there: it has its signals blocked also where a function that
 * starts a program has called it. */
void enter_server(void);
void leave_server(void);

static inline struct script_run *current_run(void)
{
    return (struct script_run *) SG(server_context);
}

/* A text that PHP takes as a string of C, or NULL. */
static inline char *text_or_null(struct border_text text)
{
    return (char *) text.at;
}

static inline struct border_text text_of(const char *at, size_t length)
{
    return (struct border_text){ at, length };
}

static inline struct border_reply ask(uint32_t question, struct border_text first,
                                      struct border_text second)
{
    struct border_reply reply = { 0 };
    struct script_run *run = current_run();
    if (run != NULL) {
        enter_server();
        run->host->ask(run->run, question, first, second, &reply);
        leave_server();
    }
    return reply;
}

static inline struct border_reply ask_for(uint32_t question, const char *name, size_t length)
{
    return ask(question, text_of(name, length), text_of(NULL, 0));
}

#endif
