/* A Vulkan layer that lets calls of a driver go wrong; drivers have done all
 * of this. The variable FAULTY holds the faults, with ';' between them, each:
 *
 *   CALL DOES [kernel=NAME] [after=N] [once=FILE]
 *
 *   CALL    the call that goes wrong: vkQueueSubmit stands for all names that
 *           begin so
 *   DOES    what it does: a VkResult to return (-4 is a lost device), or hang,
 *           crash, abort, exit, noise
 *   kernel  only from the compilation on of a kernel whose name begins so
 *   after   only after so many of the calls in a process
 *   once    only where the file does not exist; it is created
 *
 * The few declarations of Vulkan's headers and of the loader's interface for
 * layers (vk_layer.h) that are needed are repeated here: the headers are
 * seldom installed. */

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void (*function)(void);
typedef function (*look_up)(void *of, const char *name);

/* -- what goes wrong */

struct fault {
    char call[64], does[16], kernel[64], once[512];
    int after, armed, calls;
};

static struct fault faults[8];
static int count = -1;

/* Reads the variable when the first call comes by. */
static void read_faults(void) {
    if (count >= 0) {
        return;
    }
    count = 0;
    char all[4096], *rest;
    snprintf(all, sizeof all, "%s", getenv("FAULTY") ? getenv("FAULTY") : "");
    for (char *one = strtok_r(all, ";", &rest); one && count < 8; one = strtok_r(NULL, ";", &rest)) {
        struct fault *fault = &faults[count++];
        char *words;
        snprintf(fault->call, sizeof fault->call, "%s", strtok_r(one, " ", &words));
        snprintf(fault->does, sizeof fault->does, "%s", strtok_r(NULL, " ", &words));
        for (char *word = strtok_r(NULL, " ", &words); word; word = strtok_r(NULL, " ", &words)) {
            sscanf(word, "kernel=%63s", fault->kernel);
            sscanf(word, "after=%d", &fault->after);
            sscanf(word, "once=%511s", fault->once);
        }
        fault->armed = fault->kernel[0] == 0;
    }
}

/* A kernel is compiled. */
static void arm(const char *kernel) {
    read_faults();
    for (int i = 0; i < count; i++) {
        struct fault *fault = &faults[i];
        fault->armed = fault->armed || strncmp(kernel, fault->kernel, strlen(fault->kernel)) == 0;
    }
}

/* On both of the process's outputs, with and without ends of lines, and with
 * bytes that are no text. */
static void noise(void) {
    static const char text[] = "driver: \xff\xfe{\"note\": \"debug\"}\n{\n\n[1, 2]\ndriver: no end of line";
    for (int output = 1; output <= 2; output++) {
        if (write(output, text, sizeof text - 1) < 0) {
            return;
        }
    }
}

/* True where the call goes wrong; `result` is what it then returns. */
static int goes_wrong(struct fault *fault, const char *call, int *result) {
    if (!fault->armed || strncmp(call, fault->call, strlen(fault->call)) != 0) {
        return 0;
    }
    if (fault->calls++ < fault->after) {
        return 0;
    }
    if (fault->once[0] && open(fault->once, O_CREAT | O_EXCL, 0600) < 0) {
        return 0;
    }
    if (strcmp(fault->does, "noise") == 0) {
        noise();
        return 0;
    }
    if (strcmp(fault->does, "hang") == 0) {
        for (;;) {
            pause();
        }
    }
    if (strcmp(fault->does, "crash") == 0) {
        *(volatile int *)8 = 1;
    }
    if (strcmp(fault->does, "abort") == 0) {
        fputs("driver: assertion failed\n", stderr);
        abort();
    }
    if (strcmp(fault->does, "exit") == 0) {
        _exit(0);
    }
    *result = atoi(fault->does);
    return 1;
}

static int faulty(const char *call, int *result) {
    read_faults();
    for (int i = 0; i < count; i++) {
        if (goes_wrong(&faults[i], call, result)) {
            return 1;
        }
    }
    return 0;
}

/* -- calls of a device */

#define DEVICE_CALLS(X)                                                                            \
    X(vkAllocateMemory, (void *device, const void *info, const void *allocator, uint64_t *memory), \
      (device, info, allocator, memory))                                                           \
    X(vkMapMemory,                                                                                 \
      (void *device, uint64_t memory, uint64_t from, uint64_t bytes, uint32_t flags, void **data), \
      (device, memory, from, bytes, flags, data))                                                  \
    X(vkQueueSubmit, (void *queue, uint32_t submissions, const void *submits, uint64_t fence),           \
      (queue, submissions, submits, fence))                                                              \
    X(vkQueueSubmit2, (void *queue, uint32_t submissions, const void *submits, uint64_t fence),          \
      (queue, submissions, submits, fence))                                                              \
    X(vkQueueSubmit2KHR, (void *queue, uint32_t submissions, const void *submits, uint64_t fence),       \
      (queue, submissions, submits, fence))                                                              \
    X(vkWaitForFences,                                                                             \
      (void *device, uint32_t waits, const uint64_t *fences, uint32_t all, uint64_t timeout),      \
      (device, waits, fences, all, timeout))                                                       \
    X(vkWaitSemaphores, (void *device, const void *info, uint64_t timeout),                        \
      (device, info, timeout))                                                                     \
    X(vkWaitSemaphoresKHR, (void *device, const void *info, uint64_t timeout),                     \
      (device, info, timeout))

#define INTERCEPTED(name, parameters, arguments)                                                   \
    static int(*next_##name) parameters;                                                           \
    static int name##_here parameters {                                                            \
        int result;                                                                                \
        return faulty(#name, &result) ? result : next_##name arguments;                            \
    }
DEVICE_CALLS(INTERCEPTED)

/* VkComputePipelineCreateInfo, down to the name of the shader's entry point. */
struct pipeline {
    int type;
    const void *next;
    uint32_t flags;
    struct {
        int type;
        const void *next;
        uint32_t flags;
        int stage;
        uint64_t module;
        const char *entry_point;
        const void *specialization;
    } stage;
    uint64_t layout, base;
    int32_t base_index;
};

static int (*next_vkCreateComputePipelines)(void *, uint64_t, uint32_t, const struct pipeline *,
                                            const void *, uint64_t *);

static int vkCreateComputePipelines_here(void *device, uint64_t cache, uint32_t how_many,
                                         const struct pipeline *pipelines, const void *allocator,
                                         uint64_t *created) {
    for (uint32_t i = 0; i < how_many; i++) {
        arm(pipelines[i].stage.entry_point);
    }
    int result;
    if (faulty("vkCreateComputePipelines", &result)) {
        return result;
    }
    return next_vkCreateComputePipelines(device, cache, how_many, pipelines, allocator, created);
}

static look_up next_in_device;

static function in_device(void *device, const char *name) {
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) {
        return (function)in_device;
    }
    function next = next_in_device ? next_in_device(device, name) : NULL;
#define LOOKED_UP(call, parameters, arguments)                                                     \
    if (next && strcmp(name, #call) == 0) {                                                        \
        next_##call = (int(*) parameters)next;                                                     \
        return (function)call##_here;                                                              \
    }
    DEVICE_CALLS(LOOKED_UP)
    if (next && strcmp(name, "vkCreateComputePipelines") == 0) {
        next_vkCreateComputePipelines = (int (*)(void *, uint64_t, uint32_t, const struct pipeline *,
                                                 const void *, uint64_t *))next;
        return (function)vkCreateComputePipelines_here;
    }
    return next;
}

/* -- instance and device: the loader hands over the next layer in their chains */

enum { INSTANCE_LINK = 47, DEVICE_LINK = 48, LAYER_LINK_INFO = 0 };

/* VkLayerInstanceLink and VkLayerDeviceLink. */
struct link {
    struct link *next;
    look_up next_in_instance, next_here;
};

/* VkLayerInstanceCreateInfo and VkLayerDeviceCreateInfo. */
struct chain {
    int type;
    struct chain *next;
    int function;
    struct link *link;
};

static struct link *take_link(const void *info, int type) {
    struct chain *chain = ((const struct chain *)info)->next;
    while (chain && (chain->type != type || chain->function != LAYER_LINK_INFO)) {
        chain = chain->next;
    }
    struct link *link = chain->link;
    chain->link = link->next;
    return link;
}

static look_up next_in_instance;
static void *instance_here;

static int vkCreateInstance_here(const void *info, const void *allocator, void **instance) {
    int result;
    if (faulty("vkCreateInstance", &result)) {
        return result;
    }
    next_in_instance = take_link(info, INSTANCE_LINK)->next_in_instance;
    int (*create)(const void *, const void *, void **) =
        (int (*)(const void *, const void *, void **))next_in_instance(NULL, "vkCreateInstance");
    result = create(info, allocator, instance);
    instance_here = *instance;
    return result;
}

static int vkCreateDevice_here(void *gpu, const void *info, const void *allocator, void **device) {
    int result;
    if (faulty("vkCreateDevice", &result)) {
        return result;
    }
    next_in_device = take_link(info, DEVICE_LINK)->next_here;
    int (*create)(void *, const void *, const void *, void **) =
        (int (*)(void *, const void *, const void *, void **))next_in_instance(instance_here,
                                                                               "vkCreateDevice");
    return create(gpu, info, allocator, device);
}

static function in_instance(void *instance, const char *name) {
    if (strcmp(name, "vkGetInstanceProcAddr") == 0) {
        return (function)in_instance;
    }
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) {
        return (function)in_device;
    }
    if (strcmp(name, "vkCreateInstance") == 0) {
        return (function)vkCreateInstance_here;
    }
    if (strcmp(name, "vkCreateDevice") == 0) {
        return (function)vkCreateDevice_here;
    }
    return next_in_instance ? next_in_instance(instance, name) : NULL;
}

/* VkNegotiateLayerInterface. */
struct negotiation {
    int type;
    void *next;
    uint32_t version;
    look_up in_instance, in_device, in_physical_device;
};

int vkNegotiateLoaderLayerInterfaceVersion(struct negotiation *negotiation) {
    negotiation->version = 2;
    negotiation->in_instance = in_instance;
    negotiation->in_device = in_device;
    negotiation->in_physical_device = NULL;
    return 0;
}
