/* fake_nvml.c: a stand-in for libnvidia-ml.so.1 whose state is read from the file named in $FAKE_NVML (own code).
 * build: gcc -shared -fPIC -O1 -Wl,-soname,libnvidia-ml.so.1 -o libnvidia-ml.so.1 fake_nvml.c
 * use:   LD_LIBRARY_PATH=<dir> FAKE_NVML=<state file> python3 ...
 * state file, one item a line:
 *   driver 570.86.15 | nvml 12.570.86.15 | cuda 12080 | fail FUNCTION CODE [INDEX] | hang FUNCTION | crash FUNCTION
 *   | spin FUNCTION | gpu NAME TOTAL_MIB RESERVED_MIB USED_MIB GEN MAXGEN WIDTH MAXWIDTH THROTTLE_HEX ECC_UNC
 *   | proc GPUINDEX PID MIB (MIB -1 = not available) | drawn GPUINDEX PID MIB (the same, in the graphics list)
 *   | value FUNCTION NUMBER [INDEX] (what that call gives instead of its usual number)
 *   | mig GPUINDEX COUNT (the mode is on, with so many devices)                                              */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
typedef unsigned long long u64;
struct gpu { char name[96]; u64 total, reserved, used; unsigned gen, maxgen, width, maxwidth; u64 throttle, ecc; int mig; };
struct proc { unsigned gpu, pid; long long mib; int drawn; };
struct rule { char kind[8], fn[80]; long long code; int index; };
static struct gpu G[16]; static struct proc P[64]; static struct rule R[64];
static int ng, np, nr; static char driver[80] = "570.86.15", nvml[80] = "12.570.86.15"; static int cuda = 12080;

static void load(void) {
    ng = np = nr = 0;
    const char *path = getenv("FAKE_NVML"); FILE *f = path ? fopen(path, "r") : 0; char line[512], k[32];
    if (!f) return;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%31s", k) != 1 || *k == '#') continue;
        char *rest = strstr(line, k) + strlen(k);
        if (!strcmp(k, "driver")) sscanf(rest, "%79s", driver);
        else if (!strcmp(k, "nvml")) sscanf(rest, "%79s", nvml);
        else if (!strcmp(k, "cuda")) cuda = atoi(rest);
        else if (!strcmp(k, "gpu") && ng < 16) {
            struct gpu *g = &G[ng]; memset(g, 0, sizeof *g);
            if (sscanf(rest, "%95s %llu %llu %llu %u %u %u %u %llx %llu", g->name, &g->total, &g->reserved, &g->used, &g->gen,
                       &g->maxgen, &g->width, &g->maxwidth, &g->throttle, &g->ecc) >= 4) {
                g->mig = -1;
                for (char *c = g->name; *c; c++) if (*c == '_') *c = ' ';
                g->total <<= 20; g->reserved <<= 20; g->used <<= 20; ng++;
            }
        } else if ((!strcmp(k, "proc") || !strcmp(k, "drawn")) && np < 64) {
            P[np].drawn = *k == 'd';
            if (sscanf(rest, "%u %u %lld", &P[np].gpu, &P[np].pid, &P[np].mib) == 3) np++;
        } else if (!strcmp(k, "mig")) { int at, count; if (sscanf(rest, "%d %d", &at, &count) == 2 && at >= 0 && at < ng) G[at].mig = count; }
        else if (nr < 64) { struct rule *r = &R[nr]; r->index = -1; r->code = 999; snprintf(r->kind, 8, "%.7s", k);
            if (sscanf(rest, "%79s %lld %d", r->fn, &r->code, &r->index) >= 1) nr++; }
    }
    fclose(f);
}
static int rule(const char *fn, long index) {
    for (int i = 0; i < nr; i++) {
        if (strcmp(R[i].fn, fn) || (R[i].index >= 0 && index >= 0 && R[i].index != index)) continue;
        if (!strcmp(R[i].kind, "fail")) return (int)R[i].code;
        if (!strcmp(R[i].kind, "hang")) for (;;) pause();
        if (!strcmp(R[i].kind, "spin")) for (volatile long x = 0;; x++) ;
        if (!strcmp(R[i].kind, "crash")) *(volatile int *)0 = 1;
    }
    return 0;
}
static u64 given(const char *fn, int index, u64 usual) {
    for (int i = 0; i < nr; i++)
        if (!strcmp(R[i].kind, "value") && !strcmp(R[i].fn, fn) && (R[i].index < 0 || R[i].index == index)) return (u64)R[i].code;
    return usual;
}
#define SYS(fn) do { int rc_ = rule(#fn, -1); if (rc_) return rc_; } while (0)
#define DEV(fn) int i = (int)(long)h - 1; if (i < 0 || i >= ng) return 2; do { int rc_ = rule(#fn, i); if (rc_) return rc_; } while (0)
int nvmlInitWithFlags(unsigned f) { (void)f; load(); return rule("nvmlInitWithFlags", -1) ?: rule("nvmlInit_v2", -1); }
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { SYS(nvmlShutdown); return 0; }
const char *nvmlErrorString(int c) {
    switch (c) { case 0: return "Success"; case 1: return "Uninitialized"; case 2: return "Invalid Argument"; case 3: return "Not Supported";
        case 4: return "Insufficient Permissions"; case 6: return "Not Found"; case 7: return "Insufficient Size"; case 9: return "Driver Not Loaded";
        case 10: return "Timeout"; case 15: return "GPU is lost"; case 17: return "OS error"; case 18: return "Driver/library version mismatch"; default: return "Unknown Error"; } }
static int str(char *b, unsigned n, const char *s) { if (strlen(s) + 1 > n) return 7; strcpy(b, s); return 0; }
int nvmlSystemGetDriverVersion(char *b, unsigned n) { SYS(nvmlSystemGetDriverVersion); return str(b, n, driver); }
int nvmlSystemGetNVMLVersion(char *b, unsigned n) { SYS(nvmlSystemGetNVMLVersion); return str(b, n, nvml); }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { SYS(nvmlSystemGetCudaDriverVersion_v2); *v = cuda; return 0; }
int nvmlSystemGetCudaDriverVersion(int *v) { return nvmlSystemGetCudaDriverVersion_v2(v); }
int nvmlDeviceGetCount_v2(unsigned *n) { SYS(nvmlDeviceGetCount_v2); *n = ng; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h) {
    int rc = rule("nvmlDeviceGetHandleByIndex_v2", i); if (rc) return rc; if ((int)i >= ng) return 2; *h = (void *)(long)(i + 1); return 0;
}
int nvmlDeviceGetIndex(void *h, unsigned *x) { DEV(nvmlDeviceGetIndex); *x = i; return 0; }
int nvmlDeviceGetName(void *h, char *b, unsigned n) { DEV(nvmlDeviceGetName); return str(b, n, G[i].name); }
int nvmlDeviceGetUUID(void *h, char *b, unsigned n) {
    DEV(nvmlDeviceGetUUID); char s[80]; snprintf(s, 80, "GPU-fa4e0000-0000-0000-0000-%012d", i); return str(b, n, s);
}
struct mem1 { u64 total, free, used; };
struct mem2 { unsigned version; u64 total, reserved, free, used; };
int nvmlDeviceGetMemoryInfo(void *h, struct mem1 *m) {
    DEV(nvmlDeviceGetMemoryInfo); m->total = G[i].total; m->used = G[i].used + G[i].reserved; m->free = m->total - m->used; return 0;
}
int nvmlDeviceGetMemoryInfo_v2(void *h, struct mem2 *m) {
    DEV(nvmlDeviceGetMemoryInfo_v2); if (m->version != 0x02000028) return 25; m->total = G[i].total; m->reserved = G[i].reserved; m->used = G[i].used;
    m->free = m->total - m->reserved - m->used; return 0;
}
struct pinfo { unsigned pid; u64 used; unsigned gi, ci; };
static int listed(int i, int drawn, unsigned *n, struct pinfo *out) {
    unsigned have = 0, room = *n, o = 0;
    for (int k = 0; k < np; k++) if ((int)P[k].gpu == i && P[k].drawn == drawn) have++;
    *n = have;
    if (!have) return 0;
    if (!out || room < have) return 7;
    for (int k = 0; k < np; k++) if ((int)P[k].gpu == i && P[k].drawn == drawn) {
        out[o].pid = P[k].pid; out[o].used = P[k].mib < 0 ? ~0ULL : (u64)P[k].mib << 20; out[o].gi = out[o].ci = ~0U; o++;
    }
    return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *h, unsigned *n, struct pinfo *out) {
    DEV(nvmlDeviceGetComputeRunningProcesses_v3); return listed(i, 0, n, out);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *h, unsigned *n, struct pinfo *out) {
    DEV(nvmlDeviceGetGraphicsRunningProcesses_v3); return listed(i, 1, n, out);
}
#define U32(fn, expr) int fn(void *h, unsigned *v) { DEV(fn); *v = (unsigned)given(#fn, i, (expr)); return 0; }
U32(nvmlDeviceGetCurrPcieLinkGeneration, G[i].gen)
U32(nvmlDeviceGetMaxPcieLinkGeneration, G[i].maxgen)
U32(nvmlDeviceGetCurrPcieLinkWidth, G[i].width)
U32(nvmlDeviceGetMaxPcieLinkWidth, G[i].maxwidth)
int nvmlDeviceGetCurrentClocksThrottleReasons(void *h, u64 *v) { DEV(nvmlDeviceGetCurrentClocksThrottleReasons); *v = G[i].throttle; return 0; }
int nvmlDeviceGetCurrentClocksEventReasons(void *h, u64 *v) { DEV(nvmlDeviceGetCurrentClocksEventReasons); *v = G[i].throttle; return 0; }
int nvmlDeviceGetTotalEccErrors(void *h, int type, int counter, u64 *v) {
    (void)counter; DEV(nvmlDeviceGetTotalEccErrors); *v = type == 1 ? G[i].ecc : 0; return 0;
}
int nvmlDeviceGetEccMode(void *h, unsigned *cur, unsigned *pend) { DEV(nvmlDeviceGetEccMode); *cur = *pend = 1; return 0; }
int nvmlDeviceGetMigMode(void *h, unsigned *cur, unsigned *pend) { DEV(nvmlDeviceGetMigMode); if (G[i].mig < 0) return 3; *cur = *pend = 1; return 0; }
int nvmlDeviceGetMaxMigDeviceCount(void *h, unsigned *n) { DEV(nvmlDeviceGetMaxMigDeviceCount); *n = G[i].mig < 0 ? 0 : 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *h, unsigned x, void **m) {
    DEV(nvmlDeviceGetMigDeviceHandleByIndex); if ((int)x >= G[i].mig) return 6; *m = (void *)(long)(1000 + x); return 0;
}
U32(nvmlDeviceGetPersistenceMode, 1)
U32(nvmlDeviceGetPerformanceState, G[i].used ? 0 : 8)
U32(nvmlDeviceGetEnforcedPowerLimit, 600000)
U32(nvmlDeviceGetPowerManagementLimit, 600000)
U32(nvmlDeviceGetPowerManagementDefaultLimit, 600000)
U32(nvmlDeviceGetPowerUsage, 71250)
U32(nvmlDeviceGetComputeMode, 0)
int nvmlDeviceGetCudaComputeCapability(void *h, int *major, int *minor) {
    DEV(nvmlDeviceGetCudaComputeCapability); int told = (int)given("nvmlDeviceGetCudaComputeCapability", i, 120); *major = told / 10; *minor = told % 10; return 0;
}
int nvmlDeviceGetClockInfo(void *h, int type, unsigned *v) {
    static const unsigned usual[4] = {2259, 2259, 12481, 1762}; DEV(nvmlDeviceGetClockInfo); if (type < 0 || type > 3) return 2; *v = usual[type];
    return 0;
}
int nvmlDeviceGetMaxClockInfo(void *h, int type, unsigned *v) {
    static const unsigned usual[4] = {2430, 2430, 12481, 1895}; DEV(nvmlDeviceGetMaxClockInfo); if (type < 0 || type > 3) return 2; *v = usual[type];
    return 0;
}
int nvmlDeviceGetUtilizationRates(void *h, unsigned *pair) {
    DEV(nvmlDeviceGetUtilizationRates); pair[0] = (unsigned)given("nvmlDeviceGetUtilizationRates", i, 0); pair[1] = 0; return 0;
}
int nvmlDeviceGetVbiosVersion(void *h, char *b, unsigned n) { DEV(nvmlDeviceGetVbiosVersion); return str(b, n, "98.02.81.00.07"); }
struct licenses { int may; unsigned count; struct { unsigned code, state; char info[128], name[128]; unsigned on, year; unsigned short rest[5]; char status; } of[3]; };
int nvmlDeviceGetGridLicensableFeatures_v4(void *h, struct licenses *l) {
    DEV(nvmlDeviceGetGridLicensableFeatures_v4); u64 told = given("nvmlDeviceGetGridLicensableFeatures_v4", i, 2); memset(l, 0, sizeof *l);
    l->may = told != 2; l->count = l->may ? 2 : 0; l->of[1].state = (unsigned)told; return 0; /* 2: a GPU that needs no license */
}
int nvmlDeviceGetTemperature(void *h, int s, unsigned *v) {
    (void)s; DEV(nvmlDeviceGetTemperature); *v = (unsigned)given("nvmlDeviceGetTemperature", i, 45); return 0;
}
int nvmlDeviceGetRemappedRows(void *h, unsigned *a, unsigned *b, unsigned *c, unsigned *d) { DEV(nvmlDeviceGetRemappedRows); *a = *b = *c = *d = 0; return 0; }
struct pci { char legacy[16]; unsigned domain, bus, device, id, sub; char busid[32]; };
int nvmlDeviceGetPciInfo_v3(void *h, struct pci *p) {
    DEV(nvmlDeviceGetPciInfo_v3); memset(p, 0, sizeof *p); p->bus = i + 1; snprintf(p->legacy, 16, "0000:%02X:00.0", i + 1);
    snprintf(p->busid, 32, "00000000:%02X:00.0", i + 1); p->id = 0x2bb510de; return 0;
}
