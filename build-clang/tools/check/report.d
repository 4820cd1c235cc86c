build-clang/tools/check/report.o: tools/check/report.c \
  tools/check/report.h ref/base/num/status.h

tools/check/report.h:

ref/base/num/status.h:
