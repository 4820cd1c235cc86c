build-clang/tools/staging.o: tools/staging.c tools/staging.h \
  ref/base/num/status.h

tools/staging.h:

ref/base/num/status.h:
