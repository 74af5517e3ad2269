/*
 * Programs that scripts start. The server has blocked the signals that it is told things by, and a
 * program would inherit that: SIGTERM would not end it. So while one of PHP's functions that start
 * programs runs, nothing is blocked, and what arrives for the server is sent once more afterwards.
 */
#include "module.h"

#include <signal.h>
#include <unistd.h>

static const char *const starters[] = {
    "exec", "shell_exec", "system", "passthru", "popen", "proc_open", "mail", "mb_send_mail",
};
#define STARTERS (sizeof(starters) / sizeof(*starters))
#define SIGNALS 32

static zif_handler originals[STARTERS];

/* What the server has blocked, while one of these functions runs: passthru() writes to the client
 * in the middle, which is the server's work. */
static const sigset_t *server_mask;

static volatile sig_atomic_t deferred[SIGNALS];

static void defer(int signal)
{
    deferred[signal] = 1;
}

struct unblocked {
    sigset_t mask;
    struct sigaction actions[SIGNALS];
};

/* What is caught is back at its default in the program. */
static void unblock(struct unblocked *before)
{
    struct sigaction catching = { .sa_handler = defer, .sa_flags = SA_RESTART };
    sigset_t none;
    sigemptyset(&none);
    sigfillset(&catching.sa_mask);
    sigprocmask(SIG_BLOCK, &none, &before->mask);
    for (int signal = 1; signal < SIGNALS; signal++) {
        if (sigismember(&before->mask, signal)) {
            sigaction(signal, &catching, &before->actions[signal]);
        }
    }
    server_mask = &before->mask;
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void enter_server(void)
{
    if (server_mask != NULL) {
        sigprocmask(SIG_SETMASK, server_mask, NULL);
    }
}

void leave_server(void)
{
    sigset_t none;
    if (server_mask != NULL) {
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
    }
}

static void block_again(const struct unblocked *before)
{
    server_mask = NULL;
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
    for (int signal = 1; signal < SIGNALS; signal++) {
        if (!sigismember(&before->mask, signal)) {
            continue;
        }
        sigaction(signal, &before->actions[signal], NULL);
        if (deferred[signal]) {
            deferred[signal] = 0;
            kill(getpid(), signal);
        }
    }
}

static zif_handler original(const zend_string *name)
{
    for (size_t nth = 0; nth < STARTERS; nth++) {
        if (strcmp(starters[nth], ZSTR_VAL(name)) == 0) {
            return originals[nth];
        }
    }
    return NULL;
}

static ZEND_NAMED_FUNCTION(start_program)
{
    zif_handler function = original(execute_data->func->common.function_name);
    struct unblocked before;
    volatile bool is_cut = false;
    if (function == NULL) {
        return;
    }
    unblock(&before);
    /* A client that has gone ends the script in the middle of passthru(). */
    zend_try {
        function(INTERNAL_FUNCTION_PARAM_PASSTHRU);
    } zend_catch {
        is_cut = true;
    } zend_end_try();
    block_again(&before);
    if (is_cut) {
        zend_bailout();
    }
}

void guard_programs(void)
{
    for (size_t nth = 0; nth < STARTERS; nth++) {
        zend_function *function =
            zend_hash_str_find_ptr(CG(function_table), starters[nth], strlen(starters[nth]));
        if (function != NULL && function->type == ZEND_INTERNAL_FUNCTION
            && function->internal_function.handler != start_program) {
            originals[nth] = function->internal_function.handler;
            function->internal_function.handler = start_program;
        }
    }
}
