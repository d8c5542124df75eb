// NVIDIA's management library with one made-up card.
#include <string.h>
typedef void *D;
struct memory { unsigned version; unsigned long long total, reserved, free, used; };
struct use { unsigned gpu, memory; };
struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; };
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, D *d) { *d = (D)8L; return 0; }
int nvmlDeviceGetName(D d, char *s, unsigned n) { strcpy(s, "Made-up card"); return 0; }
int nvmlDeviceGetPciInfo_v3(D d, struct pci *p) { memset(p, 0, sizeof *p); p->bus = 1; strcpy(p->bus_id, "x"); return 0; }
int nvmlDeviceGetMemoryInfo_v2(D d, struct memory *m) { m->total = 8ull << 30; m->used = 2ull << 30; return 0; }
int nvmlDeviceGetUtilizationRates(D d, struct use *u) { u->gpu = 37; u->memory = 10; return 0; }
int nvmlDeviceGetTemperature(D d, int sensor, unsigned *t) { *t = 61; return 0; }
int nvmlDeviceGetPowerUsage(D d, unsigned *mw) { *mw = 250500; return 0; }
