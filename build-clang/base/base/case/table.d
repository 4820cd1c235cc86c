build-clang/base/base/case/table.o: ref/base/case/table.c \
  ref/base/case/table.h ref/base/format/byte_map.h ref/base/num/coef.h \
  ref/base/num/dtype.h ref/base/num/generate.h ref/base/num/status.h

ref/base/case/table.h:

ref/base/format/byte_map.h:

ref/base/num/coef.h:

ref/base/num/dtype.h:

ref/base/num/generate.h:

ref/base/num/status.h:
